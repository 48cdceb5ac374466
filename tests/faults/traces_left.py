"""What a run leaves behind: processes, locks, files. Its processes carry a mark in their environment."""

import contextlib
import fcntl
import os
import signal
import time
from pathlib import Path

MARK = "ROOFSCOPE_FAULTS"
_ENDED = ("Z", "X")


def children_of(pid: int) -> list[int]:
    """Its own children, oldest first; none where it is gone."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, file.read_text().split())
    return sorted(found)


def processes_of(mark: str, sessions: set[int]) -> dict[int, str]:
    """Pid and command line of what runs with this mark, or in one of these sessions."""
    found: dict[int, str] = {}
    word = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError, IndexError):
            state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if state in _ENDED and len(list((entry / "task").iterdir())) < 2:
                continue  # else other threads of it are on their way out, and hold what it held
            is_ours = int(session) in sessions
            with contextlib.suppress(OSError):
                is_ours = is_ours or word in (entry / "environ").read_bytes()
            if is_ours:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry.name)] = command.decode("utf-8", "replace").strip()
    return found


def left_after(mark: str, sessions: set[int], grace_s: float) -> list[str]:
    """What still runs after so many seconds; it is ended then."""
    until = time.monotonic() + grace_s
    while (found := processes_of(mark, sessions)) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [f"{pid}: {command[-100:]}" for pid, command in sorted(found.items())]


def locks_held(folder: Path, grace_s: float) -> list[str]:
    """Locks of devices in this folder that some process still holds after so many seconds."""
    until = time.monotonic() + grace_s
    while (held := _held(folder)) and time.monotonic() < until:
        time.sleep(0.05)
    return held


def _held(folder: Path) -> list[str]:
    held: list[str] = []
    for path in sorted(folder.iterdir()):
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(path.name)
    return held


def bytes_in(folder: Path) -> int:
    """Of all files below a folder, as the file system counts them.

    Without torch's own cache: newer versions keep 150 MiB of headers beside the cache that the user names.
    """
    total = 0
    for path in folder.rglob("*"):
        if any(part.startswith("torchinductor_") for part in path.relative_to(folder).parts):
            continue
        with contextlib.suppress(OSError):
            total += path.lstat().st_blocks * 512
    return total


def hidden_bytes(pid: int) -> int:
    """The largest file without a name that a process has open: a log, perhaps."""
    largest = 0
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if str(link.readlink()).endswith("(deleted)"):
                    largest = max(largest, link.stat().st_blocks * 512)
    return largest
