"""Carries out the referee's requests in the process that runs foreign code.

It decides nothing: it builds, calls, times and lends memory. Every answer is a claim that the referee tests.
"""

import gc
import importlib
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import torch

from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.generated import bounded
from roofscope.profiling.results.outcome import FailureKind, MemoryUse
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest, Built, Tensors
from roofscope.profiling.worker.build.machine_code import Budget
from roofscope.profiling.worker.candidate.autotuners import Autotuners
from roofscope.profiling.worker.candidate.integrity import Integrity
from roofscope.profiling.worker.candidate.memory import Lender, make_block, read_through, sets_of
from roofscope.profiling.worker.candidate.memory_use import memory_use
from roofscope.profiling.worker.candidate.messages import (
    Answer,
    Asked,
    Begin,
    Block,
    BlockRead,
    Build,
    Call,
    ClockBlocks,
    Collect,
    Contents,
    Counts,
    Done,
    EnergyRead,
    Forget,
    Free,
    Get,
    HeatedBlocks,
    HostTime,
    Info,
    Informed,
    KeepBusy,
    LastReturned,
    Layout,
    Lending,
    Make,
    MeasureEnergy,
    MemoryRead,
    Profile,
    Profiled,
    Put,
    ReadActivity,
    ReadLast,
    ReadMemory,
    ReadTunings,
    Record,
    Replay,
    Request,
    Reveal,
    Revealed,
    RunPass,
    Said,
    Seconds,
    SetOutputs,
    Settle,
    Settled,
    SettleRunnerUp,
    SingleCalls,
    TimerFacts,
    Trouble,
    TuningsRead,
)
from roofscope.profiling.worker.candidate.settling import SETTLE_CALLS, let_settle
from roofscope.profiling.worker.candidate.snapshot import alias_fault, poison, snapshot
from roofscope.profiling.worker.candidate.torch_state import TorchStates
from roofscope.profiling.worker.candidate.wire import Wire
from roofscope.profiling.worker.failures import Refusal, WrongResult, classify, first_line, has_broken_capture
from roofscope.profiling.worker.inputs import InputSet, as_tuple
from roofscope.profiling.worker.job.activity import ActivityCounter
from roofscope.profiling.worker.soundness import is_sound
from roofscope.profiling.worker.timing.block import LocalTimer
from roofscope.profiling.worker.timing.blocks import GraphTimer, QueueTimer
from roofscope.profiling.worker.timing.clock_steps import heated_blocks
from roofscope.profiling.worker.timing.energy import measure_energy
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.profiling.worker.timing.profiler import profile_block, record_trace
from roofscope.profiling.worker.timing.single_calls import single_calls
from roofscope.profiling.worker.timing.waits import waits
from roofscope.profiling.worker.timing.wall_timer import WallTimer, host_seconds

Value = TypeVar("Value")

# How a file says that it does not take a size: by the door's Refusal, or as Python files do.
_REFUSALS = (Refusal, ValueError, AssertionError)
_OUTPUTS = "outputs"
_TIMERS = (GraphTimer, QueueTimer, WallTimer)
_DEVICES_UNAVAILABLE = 46  # cudaErrorDevicesUnavailable


@dataclass
class _Candidate:
    """An implementation that is built, and its timers once it is settled."""

    built: Built
    sets: list[InputSet]
    cold: LocalTimer | None = None
    hot: LocalTimer | None = None
    memory: MemoryUse | None = None  # of a call that was long


class Host:
    """One device, the implementations built for it, and the memory that is lent."""

    def __init__(self) -> None:
        self._device = torch.device("cpu")  # until the first request names another
        self._lender = Lender()
        self._returned: tuple[torch.Tensor, ...] = ()  # copies of what the last call returned
        self._sets: dict[str, list[InputSet]] = {}
        self._blocks: dict[str, list[torch.Tensor]] = {}  # that hold the sets, one for each input
        self._candidates: dict[int, _Candidate] = {}
        self._activity: ActivityCounter | None = None
        self._integrity: Integrity | None = None
        self._states = TorchStates()
        self._autotuners = Autotuners()

    def answer(self, asked: Asked) -> Said:
        """Carry out a request; whatever it raises becomes an answer, too."""
        try:
            with self._states.of(getattr(asked.request, "number", None)):
                found = self._carry_out(asked.request)
            if not isinstance(asked.request, Call):
                self._synchronize()
        except Exception as error:  # noqa: BLE001 - a kernel may raise anything
            sound = is_sound(self._device)
            outcome = classify(error, what=asked.what, stage=asked.stage, device_is_sound=sound)
            # The outcome keeps text: the traceback would keep tensors alive.
            refusal = first_line(error) if isinstance(error, _REFUSALS) else ""
            found = Trouble(outcome, sound, has_broken_capture(error), refusal)
            error.__traceback__ = None
        if self._integrity is None or isinstance(asked.request, Block | KeepBusy):  # must not wait
            return Said(found)
        return Said(found, self._integrity.replaced(), was_watched=True)

    def _carry_out(self, request: Request) -> Answer:  # noqa: C901, PLR0912 - one line a request
        match request:
            case Begin():
                return self._begin(request)
            case Build():
                return self._build(request)
            case Make(group=group, layouts=layouts, count=count):
                return self._make(group, layouts, count)
            case Free(group=group):
                self._free(group)
                return Done()
            case Put(key=key, data=data):
                self._lender.put(key, data)
                return Done()
            case Get(key=key):
                return Contents(self._lender.get(key))
            case Call():
                self._call(request)
                return Done()
            case Collect():
                return Lending(tuple(self._lender.lend(_OUTPUTS, copy) for copy in self._returned))
            case Settle():
                return self._settle(request)
            case ReadTunings(number=number):
                return TuningsRead(_without_exit(lambda: self._autotuners.tunings(number)))
            case SettleRunnerUp():
                return self._settle_runner_up(request)
            case Block(number=number, is_hot=is_hot, keeps_last=keeps_last):
                timer = self._timer(number, is_hot=is_hot)
                timer.keeps_last = keeps_last
                return self._block(timer)
            case KeepBusy(number=number, seconds=seconds):
                self._timer(number).keep_busy(seconds)
                return Done()
            case Replay(number=number, sets=sets):
                return self._replay(number, sets)
            case ReadLast(number=number):
                return self._last(number)
            case RunPass(number=number, count=count):
                self._read_all_sets()
                with waits() as waited_s:
                    before_s = waited_s()
                    return Seconds((self._timer(number).pass_s(count), waited_s() - before_s))
            case ReadActivity():
                return Counts(tuple(self._counter().read()))
            case HostTime(number=number, calls=calls):
                return self._host_time(number, calls)
            case Profile(number=number, rest_s=rest_s, behind_another=behind_another):
                found = profile_block(self._timer(number), rest_s, behind_another=behind_another)
                return Profiled(found.kernels, BlockRead(found.reading.seconds, found.reading.clock_hz))
            case SingleCalls():
                return self._single_calls(request)
            case MeasureEnergy(number=number):
                return self._energy(number)
            case ReadMemory(number=number):
                return self._memory(number)
            case HeatedBlocks(number=number):
                return ClockBlocks(tuple(heated_blocks(self._timer(number), self._instruments.device)))
            case Info(number=number):
                return Informed(_without_exit(self._candidates[number].built.info))
            case Reveal(number=number):
                code = self._candidates[number].built.code
                return Revealed(_without_exit(lambda: bounded(code(Budget()))))
            case Record(number=number, group=group, title=title, options=options):
                call = self._candidates[number].built.call
                for _ in range(SETTLE_CALLS):
                    call(*self._sets[group][0])
                return Contents(record_trace(call, self._sets[group], title, options))
            case Forget():
                self._forget()
                return Done()

    def _begin(self, request: Begin) -> Answer:
        device = request.device
        if self._integrity is not None:  # it has served a job on this device before
            self._pool = self._instruments.output_pool()
            return Done()
        if device.kind is DeviceKind.CUDA:
            self._device = torch.device(device.id)
            _enter(self._device)
            importlib.import_module("cuda.bindings.driver")  # which is watched, too
        self._instruments = Instruments(device)
        self._device = self._instruments.torch_device
        self._pool = self._instruments.output_pool()
        settings = (
            {"the share of L2 that data may keep": kept_l2_bytes} if self._device.type == "cuda" else {}
        )
        self._integrity = Integrity(settings)  # foreign code comes with the first build
        return Done()

    def _forget(self) -> None:
        """Only imports, instruments, the context and the watch over the engine stay for the next job."""
        self._lender.free(_OUTPUTS)
        for group in tuple(self._sets):
            self._free(group)
        self._returned, self._pool = (), None
        self._candidates, self._activity = {}, None
        self._states, self._autotuners = TorchStates(), Autotuners()
        if dynamo := sys.modules.get("torch._dynamo"):
            dynamo.reset()
        gc.collect()
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _build(self, request: Build) -> Answer:
        if request.implementation.provider is Provider.COMPILE:
            import roofscope.profiling.worker.build.providers.compile  # noqa: F401  # pyright: ignore[reportUnusedImport]

            assert self._integrity is not None
            self._integrity.extend()
        built = providers.build(
            BuildRequest(
                request.implementation,
                Path(request.folder),
                request.workload,
                self._device,
                request.inputs,
                request.entry,
                target=request.target,
            )
        )
        self._candidates[request.number] = _Candidate(built, [])
        return Done()

    def _make(self, group: str, layouts: Sequence[Layout], count: int) -> Answer:
        self._free(group)
        blocks = [make_block(layout, count, self._device) for layout in layouts]
        self._blocks[group] = blocks
        self._sets[group] = sets_of(blocks) if blocks else [()] * count
        return Lending(tuple(self._lender.lend(group, block) for block in blocks))

    def _free(self, group: str) -> None:
        self._lender.free(group)
        self._sets.pop(group, None)
        self._blocks.pop(group, None)

    def _call(self, request: Call) -> None:
        """What a call wrote, copied at once on its own stream: work put off is missed, or on another one."""
        self._lender.free(_OUTPUTS)
        inputs = self._sets[request.group][0]
        poison(request.stains, self._device)
        self._returned = ()
        versions = [tensor._version for tensor in inputs]
        with self._autotuners.watching(request.number):
            returned = as_tuple(self._candidates[request.number].built.call(*inputs))
        self._returned = snapshot(inputs, returned)
        if versions != [tensor._version for tensor in inputs]:
            raise WrongResult(
                FailureKind.INPUT_CHANGED, "wrote to its input, whatever it put there in the end."
            )

    def _settle(self, request: Settle) -> Answer:
        """Let the first calls compile and allocate, then fix the timed path."""
        self._counter()
        self._lender.free(_OUTPUTS)
        self._returned = ()
        one, sets = self._candidates[request.number], self._sets[request.group]
        with self._autotuners.watching(request.number):
            is_long = let_settle(one.built.call, sets[0], self._synchronize)
        one.sets = sets
        one.cold = self._instruments.timer(one.built.call, sets, self._pool, seems_long=is_long)
        if request.has_hot:
            one.hot = self._instruments.timer(one.built.call, sets[:1], self._pool, seems_long=is_long)
        return Settled(_facts(one.cold), _facts(one.hot) if one.hot else None)

    def _settle_runner_up(self, request: SettleRunnerUp) -> Answer:
        """The same calls on the same sets, so that nothing differs but the configuration."""
        winner = self._candidates[request.number]
        built = winner.built
        call = self._autotuners.with_choice(request.number, request.place, request.configuration, built.call)
        is_long = let_settle(call, winner.sets[0], self._synchronize)
        cold = self._instruments.timer(call, winner.sets, self._pool, seems_long=is_long)
        self._candidates[request.as_number] = _Candidate(Built(call, built.info), winner.sets, cold)
        self._states.share(request.number, request.as_number)
        return Settled(_facts(cold))

    def _block(self, timer: LocalTimer) -> BlockRead:
        reading = timer.block()
        return BlockRead(reading.seconds, reading.clock_hz, timer.lead_s, reading.preempted)

    def _replay(self, number: int, chosen: Sequence[int]) -> Answer:
        self._lender.free(_OUTPUTS)
        one, timer = self._candidates[number], self._timer(number)
        if isinstance(timer, GraphTimer):
            found = timer.run_on(chosen)
            faults = (alias_fault(one.sets[i], of_set) for i, of_set in zip(chosen, found, strict=True))
            if fault := next(filter(None, faults), None):
                raise WrongResult(FailureKind.ALIASED, fault)
        else:
            # Read before the next call, which may write over it, as what replays a graph of its own does.
            found = [snapshot(one.sets[i], of_set) for i in chosen for of_set in timer.run_on([i])]
        return SetOutputs(
            tuple(tuple(self._lender.lend(_OUTPUTS, one) for one in of_set) for of_set in found)
        )

    def _last(self, number: int) -> Answer:
        self._lender.free(_OUTPUTS)
        last = self._timer(number).last
        if last is None:
            raise RuntimeError("no call was timed")
        found = snapshot(self._candidates[number].sets[last.place], as_tuple(last.returned))
        return LastReturned(last.place, tuple(self._lender.lend(_OUTPUTS, copy) for copy in found))

    def _read_all_sets(self) -> None:
        """Both kinds of passes, on new contents and on old, then find the caches alike."""
        for blocks in self._blocks.values():
            for block in blocks:
                read_through(block)

    def _single_calls(self, request: SingleCalls) -> Answer:
        offset_s = self._instruments.call_offset_s
        if offset_s is None:
            return Seconds(())
        one = self._candidates[request.number]
        timer = self._timer(request.number)
        count = min(request.count, timer.calls_per_block) if request.rest_s else request.count
        bursts, rest_s = request.bursts, request.rest_s
        return Seconds(single_calls(one.built.call, one.sets, offset_s, count, bursts=bursts, rest_s=rest_s))

    def _energy(self, number: int) -> Answer:
        reader, timer = self._instruments.energy, self._timer(number)
        if reader is None or not isinstance(timer, GraphTimer):
            return EnergyRead(None)
        return EnergyRead(measure_energy(timer.replay, timer.calls_per_block, reader))

    def _host_time(self, number: int, calls: int) -> Answer:
        """A single call, because it is long, is counted by the allocator at once, which spares another."""
        one, found_s = self._candidates[number], 0.0
        if calls > 1:
            return Seconds((host_seconds(one.built.call, one.sets[0], calls),))

        def timed(*inputs: torch.Tensor) -> Tensors:
            nonlocal found_s
            started = time.perf_counter_ns()
            outputs = one.built.call(*inputs)
            found_s = (time.perf_counter_ns() - started) * 1e-9
            return outputs

        self._synchronize()
        one.memory = memory_use(timed, one.sets[0], self._device, torch.cuda)
        return Seconds((found_s,))

    def _memory(self, number: int) -> Answer:
        if self._device.type != "cuda":  # the CPU's allocator does not count
            return MemoryRead(None)
        one = self._candidates[number]
        return MemoryRead(one.memory or memory_use(one.built.call, one.sets[0], self._device, torch.cuda))

    def _timer(self, number: int, *, is_hot: bool = False) -> LocalTimer:
        one = self._candidates[number]
        timer = one.hot if is_hot else one.cold
        assert timer is not None
        # Integrity holds the classes, and an object may get another one or methods of its own.
        kind = type(timer)
        if kind not in _TIMERS or any(callable(vars(kind).get(name)) for name in vars(timer)):
            raise WrongResult(FailureKind.TAMPERED, "replaced the timer of its calls.")
        return timer

    def _counter(self) -> ActivityCounter:
        if self._activity is None:  # now that each provider has imported what it uses
            self._activity = ActivityCounter(self._device)
        return self._activity

    def _synchronize(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)


def _without_exit(read: Callable[[], Value]) -> Value:
    """What is read of foreign objects beside their calls: it may not end a process whose times are taken.

    Raises RuntimeError where it would.
    """
    try:
        return read()
    except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        raise RuntimeError(f"it raised {type(error).__name__} instead of an answer") from None


def _enter(device: torch.device) -> None:
    """Make this process's context on a GPU. Raises Refusal where the GPU takes one process only."""
    try:
        torch.cuda.set_device(device)
        torch.ones(1, device=device)
    except RuntimeError as error:
        if getattr(error, "error_code", None) != _DEVICES_UNAVAILABLE:
            raise
        raise Refusal(
            "This GPU lets one process in (exclusive compute mode), and Roofscope judges in one and runs "
            "kernels in another; `nvidia-smi --compute-mode 0` lets both in."
        ) from error


def kept_l2_bytes() -> int | None:
    """What access policies may set aside of L2: cold calls would be hot by it. None after a sticky error."""
    driver: Any = importlib.import_module("cuda.bindings.driver")
    error, limit = driver.cuCtxGetLimit(driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
    return None if error else int(limit)


def _facts(timer: LocalTimer) -> TimerFacts:
    return TimerFacts(timer.method, timer.reason, timer.calls_per_block, timer.set_count)


def serve(connection: socket.socket) -> NoReturn:
    """Answer requests until the referee closes the connection."""
    wire, host = Wire(connection, Asked), Host()
    try:
        while True:
            wire.send(host.answer(wire.receive(most_bytes=None)))  # of the referee: contents of any size
    except (EOFError, OSError):
        os._exit(0)
