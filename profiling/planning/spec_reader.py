"""Reads specs in a child process, because a spec is a program: it may end, hang or fill its process.

All folders of a scan share one child. Where it dies, the folder that it was reading is the one at fault, if a
fresh child dies of it too, and the rest go on in that one.
"""

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import msgspec
from msgspec import Struct

from roofscope.profiling.paths import module_command
from roofscope.profiling.planning import spec_child
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.spec import KernelSpec
from roofscope.profiling.planning.spec_child import SpecAnswer

PATIENCE_S = 5.0  # for one spec; ours take a millisecond
SCAN_PATIENCE_S = 20.0  # after which no further child is begun for those that are left
_START_S = 60.0  # of the child, on a machine whose cores are busy
_GRACE_S = 2.0  # after which the child is ended from here, should a spec have stopped its alarm
_LONGEST_BYTES = 1 << 20  # of an answer
_CHUNK_BYTES = 1 << 16


class SpecFault(Struct, frozen=True):
    """Why a folder's spec cannot be used, in a clause."""

    text: str
    is_spec: bool = True


class SpecReader:
    """A context: what a spec has left running ends with it."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._child: _Child | None = None

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
            self._child = _Child(self._folders)

    def answers(self) -> list[KernelSpec | SpecFault]:
        """One for each folder, in their order."""
        self.start()
        found: list[KernelSpec | SpecFault] = []
        until = time.monotonic() + SCAN_PATIENCE_S
        while self._child:
            answers, fault = self._child.answers()
            self._child.end()
            self._child = None
            found += map(_outcome, answers)
            is_own_fault = not answers or fault == _too_long()
            if len(found) < len(self._folders) and is_own_fault:
                found.append(SpecFault(fault))
            rest = self._folders[len(found) :]
            unread = SpecFault(f"it was not read: other specs took more than {SCAN_PATIENCE_S:g} s")
            if rest and time.monotonic() > until:
                found += [unread for _ in rest]
            elif rest:
                self._child = _Child(rest)
        return found


class _Child:
    def __init__(self, folders: Sequence[Path]) -> None:
        self._count = len(folders)
        self._output, output = os.pipe()
        try:
            with tempfile.TemporaryFile() as names:  # no pipe, which a child that dies would leave half full
                names.write(msgspec.json.encode([printable(folder) for folder in folders]))
                names.seek(0)
                self._process = subprocess.Popen(
                    [*module_command(spec_child.__name__), str(output), str(PATIENCE_S)],
                    stdin=names,
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

    def answers(self) -> tuple[list[SpecAnswer], str]:
        """What it says until it is done or ends, and why it ended early, in a clause."""
        answers: list[SpecAnswer] = []
        pending = bytearray()
        patience_s, is_ready = _START_S, False
        while len(answers) < self._count:
            if not select.select([self._output], [], [], patience_s)[0]:
                return answers, _too_long()
            data = os.read(self._output, _CHUNK_BYTES)
            pending += data
            *lines, rest = pending.split(b"\n")
            pending = bytearray(rest)
            if lines and not is_ready:  # the first line is empty: it has started
                is_ready, lines = True, lines[1:]
            answers += map(_decoded, lines)
            if not data:
                return answers, self._why()
            if len(pending) > _LONGEST_BYTES:
                return answers, "its answer has no end"
            patience_s = PATIENCE_S + _GRACE_S
        return answers[: self._count], ""

    def end(self) -> None:
        """Also of what a spec has started in its group."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._output)

    def _why(self) -> str:
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            return "it closes what the program reads from"
        if code == -signal.SIGALRM:
            return _too_long()
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"it ends the process that reads it ({how})"


def _too_long() -> str:
    return f"it does not end within {PATIENCE_S:g} s"


def _decoded(line: bytes | bytearray) -> SpecAnswer:
    try:
        return msgspec.json.decode(line, type=SpecAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return SpecAnswer(fault=f"it cannot be written as data ({error})")


def _outcome(answer: SpecAnswer) -> KernelSpec | SpecFault:
    return answer.spec or SpecFault(answer.fault, answer.is_spec)
