"""Carries faults out in one run of the command line, and sees what becomes of it."""

import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from roofscope.profiling.devices.device import Device
from roofscope.profiling.paths import SUFFIX, module_command
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.tests.faults.corpus import Around, Fault, Shot, Target, write_kernels
from roofscope.tests.faults.tapped_run import Line
from roofscope.tests.faults.traces_left import (
    MARK,
    bytes_in,
    children_of,
    hidden_bytes,
    left_after,
    locks_held,
)
from roofscope.tests.worker.command_line import keep_ceilings

_LOOK_S = 0.05
GRACE_S = 1.0  # for processes after the program's end


class Seen(Struct, frozen=True):
    """What came of a run."""

    lines: tuple[Line, ...]
    output: str
    code: int | None  # of the program; None where it had to be ended
    began_s: float  # on the clock of the lines
    ended_s: float
    left: tuple[str, ...]  # processes
    locks: tuple[str, ...]
    bytes_left: int  # in TMPDIR
    log_bytes: int  # the largest file without a name that the program or its worker held
    readable_points: int  # of the session's file that has most, by our reader
    unreadable: str  # what the reader said of the one asked for
    session: str = f"run{SUFFIX}"  # the name of the file that has most
    is_shot: bool = True  # the signal was sent, or the surroundings were changed


def carry_out(
    faults: Sequence[Fault], device: Device, folder: Path, limit_s: float, grace_s: float = GRACE_S
) -> Seen:
    """One run of these, each with its honest kernel after it, in a folder of its own."""
    command = command_of(faults, device, folder)
    [around] = [fault.around for fault in faults if fault.around] or [Around()]
    [shot] = [fault.shot for fault in faults if fault.shot] or [None]
    run = Watched(command, folder, around, shot, faults[0].name)
    code = run.end(limit_s)
    ended_s = time.monotonic()
    left = left_after(run.mark, run.sessions, grace_s)
    points, session, unreadable = _points_in(folder)
    return Seen(
        lines=tuple(run.lines()),
        output=run.output(),
        code=code,
        began_s=run.began_s,
        ended_s=ended_s,
        left=tuple(left),
        locks=tuple(locks_held(folder / "locks", grace_s)),
        bytes_left=bytes_in(folder / "tmp"),
        log_bytes=run.log_bytes,
        readable_points=points,
        unreadable=unreadable,
        session=session,
        is_shot=not run.waits,
    )


def command_of(faults: Sequence[Fault], device: Device, folder: Path) -> list[str]:
    """The command line of such a run, for which the folder is made ready."""
    for name in ("kernels", "tmp", "locks", "cache", "data"):
        (folder / name).mkdir(parents=True)
    for fault in faults:
        write_kernels(folder / "kernels", fault)
    keep_ceilings(folder / "cache", device)
    names = [name for one in faults for name in ([one.name] if one.is_planned else []) + [one.after]]
    words = dict.fromkeys(names)
    stems = {"eager", *(fault.stem for fault in faults)}
    return [
        *(*module_command("roofscope.tests.faults.tapped_run"), str(folder / "tap"), "run", *words),
        *("--kernels", str(folder / "kernels"), "--device", device.id, "--preset", str(device.kind)),
        *(word for stem in sorted(stems) for word in ("--implementation", stem)),
        *("--out", str(folder / f"run{SUFFIX}")),
    ]


class Watched:
    """A run under way: its reports, its processes, and what is to be done to it meanwhile."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        around: Around | None = None,
        shot: Shot | None = None,
        kernel: str = "",
    ) -> None:
        self._folder, self._shot, self._kernel = folder, shot, kernel
        self._around = around or Around()
        self.mark = secrets.token_hex(8)
        self.sessions: set[int] = set()  # that workers led
        self.log_bytes = 0
        self.waits = shot is not None or self._around.act is not None  # for its stage to come
        self.began_s = time.monotonic()
        with (folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                [
                    "/bin/sh",
                    "-c",
                    f'{self._around.prefix}\nexec "$@" {self._around.redirect}',
                    "sh",
                    *command,
                ],
                env=_environment(folder, self.mark),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def goes_on_for(self, seconds: float) -> bool:
        """Whether it has not ended by then, counted from its beginning."""
        while time.monotonic() - self.began_s < seconds:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LOOK_S)
                return False
            self._look()
        return True

    def end(self, limit_s: float) -> int | None:
        """Wait so long; its exit code, or None where it had to be ended."""
        if not self.goes_on_for(time.monotonic() - self.began_s + limit_s):
            return self._process.returncode
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return None

    def output(self) -> str:
        return (self._folder / "output").read_bytes().decode("utf-8", "replace")

    def lines(self) -> list[Line]:
        """What was reported so far."""
        try:
            whole = (self._folder / "tap").read_bytes().rpartition(b"\n")[0]
        except FileNotFoundError:
            return []
        found: list[Line] = []
        for line in whole.splitlines():
            with contextlib.suppress(msgspec.DecodeError):  # torn by what was killed while it wrote
                found.append(msgspec.json.decode(line, type=Line))
        return found

    def _look(self) -> None:
        workers = children_of(self._process.pid)
        self.sessions.update(workers)
        self.log_bytes = max([self.log_bytes, *map(hidden_bytes, (self._process.pid, *workers))])
        if not self.waits:
            return
        stage = self._shot.stage if self._shot else self._around.at_stage
        if any(line.kernel == self._kernel and line.stage == stage for line in self.lines()):
            self.waits = not self._act()

    def _act(self) -> bool:
        """Whether it was done."""
        if self._around.act is not None:
            self._around.act(self._folder)
        if self._shot is None:
            return True
        found = process_of(self._process.pid, self._shot.target)
        if found is None:
            return False
        end = os.killpg if self._shot.whole_group else os.kill
        with contextlib.suppress(ProcessLookupError):
            end(os.getpgid(found) if self._shot.whole_group else found, self._shot.signal)
        return True


def process_of(program: int, target: Target) -> int | None:
    """The guard of a program's worker, or a process below it; None where there is none now."""
    found = program
    for name in Target:
        children = children_of(found)
        if not children:
            return None
        # The first child of the guard is the worker, and its first one the fork server; orphans come later.
        found = children[0] if name in (Target.WORKER, Target.FORK_SERVER) else children[-1]
        if name is target:
            break
    return found


def _environment(folder: Path, mark: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return {
        **kept,
        MARK: mark,
        "TMPDIR": str(folder / "tmp"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache" / "inductor"),
        "ROOFSCOPE_TRUST": str(folder / "kernels"),  # links in it lead to what others may write to
        "ROOFSCOPE_LOCKS": str(folder / "locks"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "data"),
        "FAULT_FOLDER": str(folder),
    }


def _points_in(folder: Path) -> tuple[int, str, str]:
    """How many points, in which file, and why the one asked for cannot be read."""
    name = f"run{SUFFIX}"
    most, unreadable = (0, name), ""
    for path in [folder / name, *sorted(folder.rglob(f"*{SUFFIX}"))]:
        try:
            most = max(most, (len(load(path).points), path.name), key=lambda found: found[0])
        except (SessionError, OSError) as error:
            unreadable = unreadable or str(error)
    return *most, unreadable
