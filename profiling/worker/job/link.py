"""The referee's side of a candidate's process: what it is asked, and the memory that both see."""

import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TypeVar

import torch

from roofscope.profiling.devices.device import Device
from roofscope.profiling.results.outcome import Failed, Skipped, Stage
from roofscope.profiling.worker.candidate.memory import Borrowed, Mapping, sets_of
from roofscope.profiling.worker.candidate.messages import (
    Answer,
    Asked,
    Begin,
    Block,
    BlockRead,
    Call,
    Collect,
    Contents,
    Done,
    Free,
    Get,
    KeepBusy,
    Layout,
    Lending,
    Lent,
    Make,
    Put,
    Request,
    TimerFacts,
    Trouble,
)
from roofscope.profiling.worker.inputs import InputMaker, InputSet
from roofscope.profiling.worker.job.candidate_process import Look, Process, Tampered
from roofscope.profiling.worker.job.second_clock import BlockSeen
from roofscope.profiling.worker.job.waiting import Waiting
from roofscope.profiling.worker.timing.block import BlockReading, WhileBusy
from roofscope.profiling.worker.timing.waits import waits

Found = TypeVar("Found", bound=Answer)

_LEAST_S = 1e-12  # of a call: a result keeps no shorter time, and no timer of ours reads one


class CandidateFailed(Exception):
    """A request failed over there; the outcome is what it said of it."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.outcome.message)
        self.outcome: Failed | Skipped = trouble.outcome
        self.is_sound = trouble.is_sound
        self.refusal = trouble.refusal
        self.has_broken_capture = trouble.has_broken_capture


class Link:
    """A conversation about one job. ``what`` and ``stage`` word the failure of what is asked next."""

    def __init__(
        self,
        process: Process,
        device: Device,
        torch_device: torch.device,
        waiting: Waiting | None = None,
    ) -> None:
        """``waiting`` tells the program of each wait."""
        self._process = process
        self._waiting = waiting
        self.device = torch_device
        self.processes = {os.getpid(), process.pid}  # that a block's time may be lost in
        self._outputs = Mapping(torch_device)
        self._sets: list[RemoteSets] = []
        self.what, self.stage = "", Stage.BUILD
        self._is_troubled = False
        self._most_lent_bytes = 0
        self.answered_at = 0.0  # the last answer, by time.perf_counter
        self.shares_memory = torch_device.type == "cuda"
        try:
            self.ask(Begin(device), Done)
        except BaseException:
            process.close()
            raise

    def ask(self, request: Request, kind: type[Found], look: Look | None = None) -> Found:
        """Ask, look meanwhile, await the answer. Raises CandidateFailed, Tampered or CandidateLost."""
        with self._waiting.answer(request) if self._waiting else nullcontext():
            contents_bytes = self._most_lent_bytes if isinstance(request, Get) else 0
            asked = Asked(request, self.what, self.stage)
            said, self.answered_at = self._process.ask(asked, look, contents_bytes)
        replaced = said.replaced or tuple(filter(None, [self._process.put_back_grants()]))
        if replaced:
            self._is_troubled = True
            raise Tampered(", ".join(replaced[:3]))
        if not (said.was_watched or isinstance(request, Begin | Block | KeepBusy)):
            self._is_troubled = True
            raise Tampered("the watch over the engine")
        if isinstance(said.answer, Trouble):
            self._is_troubled |= not (said.answer.is_sound and said.answer.refusal)
            raise CandidateFailed(said.answer)
        if not isinstance(said.answer, kind):
            raise Tampered("what it answers the referee")
        return said.answer

    def make(self, group: str, layouts: Sequence[Layout], count: int = 1) -> "RemoteSets":
        """Input sets over there, with no contents yet, in place of those of that group."""
        self._outputs.close()
        for sets in [sets for sets in self._sets if sets.group == group]:
            self._sets.remove(sets)
            sets.close()
        self.ask(Free(group), Done)
        lent = self.ask(Make(group, tuple(layouts), count), Lending).tensors
        self._sets.append(RemoteSets(self, group, lent, count))
        return self._sets[-1]

    def free(self, sets: "RemoteSets") -> None:
        self._outputs.close()
        self._sets.remove(sets)
        sets.close()
        self.ask(Free(sets.group), Done)

    def borrow(self, lent: Lent, mapping: Mapping) -> Borrowed:
        borrowed = Borrowed(lent, mapping, self._fetch, self._store)
        self._most_lent_bytes = max(self._most_lent_bytes, borrowed.tensor.nbytes)
        self.shares_memory = self.shares_memory and (borrowed.is_shared or not borrowed.tensor.numel())
        return borrowed

    def outputs(self, lent: Sequence[Lent]) -> tuple[torch.Tensor, ...]:
        """What lies in lent tensors now. Valid until the next call over there."""
        return tuple(self.borrow(one, self._outputs).pull() for one in lent)

    def forget_outputs(self) -> None:
        """Unmap them: the other process may free that memory now."""
        self._outputs.close()

    def close(self, *, is_done: bool = False) -> None:
        """End the process, or let it rest once a job is done. Borrowed tensors must not be used any more."""
        for mapping in (self._outputs, *self._sets):
            mapping.close()
        self._process.put_back_grants()  # what died of it gives no answer that could tell
        self._process.close(went_well=is_done and not self._is_troubled)

    def _fetch(self, key: int) -> bytes:
        return self.ask(Get(key), Contents).data

    def _store(self, key: int, data: bytes) -> None:
        self.ask(Put(key, data), Done)


class RemoteSets:
    """Input sets in the candidate's process. They are filled here, and ``send`` makes the filling known."""

    def __init__(self, link: Link, group: str, lent: Sequence[Lent], count: int) -> None:
        self.group = group
        self._mapping = Mapping(link.device)
        self._blocks = [link.borrow(one, self._mapping) for one in lent]
        self.blocks: InputSet = tuple(block.tensor for block in self._blocks)  # first dimension: sets
        self.sets = sets_of(self.blocks) if self.blocks else [()] * count

    def send(self) -> None:
        """Call it before the other process looks."""
        for block in self._blocks:
            block.push()
        if self._mapping.device.type == "cuda":
            torch.cuda.synchronize(self._mapping.device)

    def look(self) -> None:
        """Read what the other process may have written."""
        for block in self._blocks:
            block.pull()

    def close(self) -> None:
        self._mapping.close()


class RemoteCall:
    """An implementation over there, called on inputs that are filled here."""

    def __init__(self, link: Link, number: int, maker: InputMaker) -> None:
        self._link, self._number, self._maker = link, number, maker
        self._sets: RemoteSets | None = None

    def inputs(self, sizes: dict[str, int], magnitude: float) -> InputSet:
        """Fresh ones. Valid until the next."""
        self._sets = self._link.make("verified", self._maker.layouts(sizes))
        self._maker.refresh(self._sets.sets[0], sizes, magnitude)
        self._sets.send()
        return self._sets.sets[0]

    def outputs(self, stains: Sequence[Layout]) -> tuple[torch.Tensor, ...]:
        """What a call on these inputs returns, after ``stains`` were left in free memory."""
        assert self._sets is not None
        self._link.ask(Call(self._number, self._sets.group, tuple(stains)), Done)
        lent = self._link.ask(Collect(), Lending).tensors
        self._sets.look()
        return self._link.outputs(lent)

    def close(self) -> None:
        """Free the inputs over there."""
        if self._sets is not None:
            self._link.free(self._sets)
            self._sets = None


class RemoteTimer:
    """Times blocks over there, and watches them by the referee's own clock."""

    def __init__(self, link: Link, number: int, facts: TimerFacts, *, is_hot: bool = False) -> None:
        self._link = link
        self._number, self._is_hot = number, is_hot
        self.method, self.reason = facts.method, facts.reason
        self.calls_per_block = max(facts.calls_per_block, 1)
        self.set_count = max(facts.set_count, 1)
        self.seen: list[BlockSeen] = []
        self.asked_at = 0.0

    @property
    def reached(self) -> int:
        """How many of the sets its calls have taken so far, from the first one on.

        A pass of a graph takes few of them where calls are long, and queued calls take one set each.
        """
        return min(self.set_count, max(len(self.seen), 1) * self.calls_per_block)

    def keep_busy(self, seconds: float) -> None:
        self._link.ask(KeepBusy(self._number, seconds), Done)

    def block(self, meanwhile: WhileBusy | None = None, *, keeps_last: bool = False) -> BlockReading:
        """Ask for a block; ``meanwhile`` is called half way through, as far as the one before tells."""
        half_s = self.seen[-1].wall_s / 2 if self.seen else 0.0
        look = Look(meanwhile, half_s) if meanwhile else None
        with waits(*self._link.processes) as waited_s:
            before_s = waited_s()
            self.asked_at = started = time.perf_counter()
            read = self._link.ask(Block(self._number, self._is_hot, keeps_last), BlockRead, look)
            wall_s = self._link.answered_at - started
            waited = waited_s() - before_s
        if not read.seconds >= _LEAST_S:
            raise Tampered("what it answers the referee")
        claimed_s = read.seconds * self.calls_per_block
        self.seen.append(BlockSeen(claimed_s, read.lead_s, wall_s, waited, self.method))
        return BlockReading(read.seconds, read.clock_hz, read.preempted)
