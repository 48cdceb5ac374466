"""Reads specs in a child process, because a spec is a program: it may end, hang or fill its process.

All folders of a scan share one child. Where it dies, the folder that it was reading is the one at fault, if a
fresh child dies of it too, and the rest go on in that one.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import NamedTuple

import msgspec
from msgspec import Struct

from roofscope.profiling.paths import module_command
from roofscope.profiling.planning import spec_child
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.spec import KernelSpec
from roofscope.profiling.planning.spec_child import SpecAnswer
from roofscope.profiling.process_tree import end_group, end_tree, may_have_children

PATIENCE_S = 5.0  # for one spec; ours take a millisecond
SCAN_PATIENCE_S = 20.0  # after which no further child is begun for those that are left
_START_S = 60.0  # of the child, on a machine whose cores are busy
_LOOK_S = 0.1  # between two looks at whether anybody waits
_GRACE_S = 2.0  # after which the child is ended from here, should a spec have stopped its alarm
_LONGEST_BYTES = 1 << 20  # of an answer
_CHUNK_BYTES = 1 << 16


class SpecFault(Struct, frozen=True):
    """Why a folder's spec cannot be used, in a clause."""

    text: str
    is_spec: bool = True


class SpecReader:
    """A context: what a spec has left running ends with it."""

    def __init__(self, folders: Sequence[Path], given_up: Event | None = None) -> None:
        """``given_up`` is set, from another thread, when nobody waits for the answers any more."""
        self._folders = folders
        self._given_up = given_up or Event()
        self._child: _Child | None = None
        self._was_killed_starting = False

    def __enter__(self) -> "SpecReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child:
            self._child.end()

    def start(self) -> None:
        """Begin, so that the child reads while its caller does something else."""
        if self._folders and not self._child:
            with suppress(OSError):  # else it is tried once more when the answers are asked for
                self._child = _Child(self._folders)

    def answers(self) -> list[KernelSpec | SpecFault]:
        """One for each folder, in their order."""
        found: list[KernelSpec | SpecFault] = []
        until = time.monotonic() + SCAN_PATIENCE_S
        while rest := self._folders[len(found) :]:
            fault = ""
            if self._given_up.is_set():
                fault = "the program ends"
            elif found and time.monotonic() > until:
                fault = f"it was not read: other specs took more than {SCAN_PATIENCE_S:g} s"
            else:
                try:
                    fault = self._read(rest, found)
                except OSError as error:
                    fault = f"no process can be started to read it ({error.strerror})"
            if fault:
                found += [SpecFault(fault) for _ in rest]
        return found

    def _read(self, rest: Sequence[Path], found: list[KernelSpec | SpecFault]) -> str:
        """By one child, as many as it lives for; why there is no use in another one."""
        child = self._child = self._child or _Child(rest)
        said = child.answers(self._given_up)
        child.end()
        self._child = None
        if not said.is_ready:
            if said.is_killed and not self._was_killed_starting:
                self._was_killed_starting = True  # by accident, as far as is known: no spec was read yet
                return ""
            return "the process that reads specs does not start"
        found += map(_outcome, said.answers)
        if said.fault and (said.is_late or not said.answers):  # of a fresh process: its own fault
            found.append(SpecFault(said.fault))
        return ""


class _Answers(NamedTuple):
    """Of a child that ended early: why, in a clause, whether it took too long, or a signal ended it."""

    answers: list[SpecAnswer]
    fault: str
    is_ready: bool
    is_late: bool = False
    is_killed: bool = False


class _Child:
    """Raises OSError where no process can be started."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._count = len(folders)
        self._output, output = os.pipe()
        try:
            self._process = subprocess.Popen(
                [*module_command(spec_child.__name__), str(output), str(PATIENCE_S)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # what a spec prints is no part of what we print
                stderr=subprocess.DEVNULL,
                pass_fds=[output],
                start_new_session=True,
            )
        except BaseException:
            os.close(self._output)
            raise
        finally:
            os.close(output)
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as names:  # it reads all of them at first
            names.write(msgspec.json.encode([printable(folder) for folder in folders]))

    def answers(self, given_up: Event) -> _Answers:
        """What it says until it is done or ends, and why it ended early."""
        answers: list[SpecAnswer] = []
        pending = bytearray()
        is_ready = False
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        until = time.monotonic() + _START_S
        while len(answers) < self._count:
            if given_up.is_set():
                return _Answers(answers, "the program ends", is_ready, is_late=True)
            left_s = until - time.monotonic()
            if not poll.poll(min(max(0.0, left_s), _LOOK_S) * 1000):
                if left_s > _LOOK_S:
                    continue
                return _Answers(answers, _too_long(), is_ready, is_late=True)
            data = os.read(self._output, _CHUNK_BYTES)
            pending += data
            *lines, rest = pending.split(b"\n")
            pending = bytearray(rest)
            if lines:  # only a whole answer brings more time: a spec may write parts of one
                until = time.monotonic() + PATIENCE_S + _GRACE_S
            if lines and not is_ready:  # the first line is empty: it has started
                is_ready, lines = True, lines[1:]
            answers += map(_decoded, lines)
            if not data:
                return self._ended(answers, is_ready)
            if len(pending) > _LONGEST_BYTES:
                return _Answers(answers, "its answer has no end", is_ready)
        return _Answers(answers[: self._count], "", is_ready)

    def end(self) -> None:
        """Also of what a spec has started."""
        if self._process.poll() is None and may_have_children(self._process.pid):
            end_tree(self._process.pid)
        else:
            end_group(self._process.pid)
        self._process.wait()
        os.close(self._output)

    def _ended(self, answers: list[SpecAnswer], is_ready: bool) -> _Answers:
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            return _Answers(answers, "it closes what the program reads from", is_ready)
        if code == -signal.SIGALRM:
            return _Answers(answers, _too_long(), is_ready, is_late=True)
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        fault = f"it ends the process that reads it ({how})"
        return _Answers(answers, fault, is_ready, is_killed=code < 0)


def _too_long() -> str:
    return f"it does not end within {PATIENCE_S:g} s"


def _decoded(line: bytes | bytearray) -> SpecAnswer:
    try:
        return msgspec.json.decode(line, type=SpecAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return SpecAnswer(fault=f"it cannot be written as data ({error})")


def _outcome(answer: SpecAnswer) -> KernelSpec | SpecFault:
    return answer.spec or SpecFault(answer.fault, answer.is_spec)
