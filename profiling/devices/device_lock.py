"""Allows one worker at a time per GPU: two that measure at once would both read wrong times.

The lock belongs to an open file, so it ends with its process, however that ends. The file stays: were it
removed, two workers could hold two files of one name.
"""

import contextlib
import fcntl
import hashlib
import os
import pwd
import stat
import time
import weakref
from datetime import datetime
from pathlib import Path
from typing import Self

import msgspec
import psutil
from msgspec import Struct

from roofscope.profiling.paths import lock_folder

_KERNELS_LIST = Path("/proc/locks")
_MOST_WRITTEN = 200  # bytes of a note; anything longer is none of ours
_PAUSE_S = 0.1
_ATTEMPTS = 5  # at a file that others make or remove meanwhile


class DeviceBusy(Exception):
    """Another Roofscope worker holds the device; the text is one sentence."""


class Holder(Struct, frozen=True):
    """Numbers only: any user may write the file, and what it says is shown to others."""

    pid: int
    uid: int
    since_s: float  # Unix time


class DeviceLock:
    """A held lock; ``close`` gives it back. A child that this process forks does not hold it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        itself = weakref.ref(self)  # what is registered is never unregistered

        def let_go() -> None:
            if lock := itself():
                lock.close()

        os.register_at_fork(after_in_child=let_go)

    def close(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lock_device(uuid: str, name: str) -> DeviceLock:
    """Take the device's lock, which is held until it is closed or the process ends.

    Raises DeviceBusy, and OSError with a sentence where something else lies in the file's stead. All users
    of the machine share one file. Its name is a hash, because a UUID may hold what a file name may not.
    """
    digest = hashlib.sha256(uuid.encode()).hexdigest()[:16]
    path = lock_folder() / f"roofscope-{digest}.lock"
    for _ in range(_ATTEMPTS):
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            who = _holder_text(descriptor)
            os.close(descriptor)
            raise DeviceBusy(
                f"Another Roofscope is measuring on {name}{who}; wait until it is done, or stop it there."
            ) from error
        if _is_still(path, descriptor):
            _write_holder(descriptor)
            return DeviceLock(descriptor)
        os.close(descriptor)
    raise OSError(f"{path}, which locks the device, is removed again and again; find out by what.")


def lock_when_free(uuid: str, name: str, within_s: float) -> DeviceLock:
    """As ``lock_device``, for a worker that follows another one: a driver takes seconds to end a process.

    A program that asks whether the device is busy has the lock for a moment, too.
    """
    until = time.monotonic() + within_s
    while True:
        try:
            return lock_device(uuid, name)
        except DeviceBusy:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)


def why_busy(uuid: str, name: str) -> str:
    """Why the lock cannot be taken now, in a sentence; "" where it can. To ask before a worker is started.

    Raises OSError as ``lock_device`` does: then waiting changes nothing.
    """
    try:
        lock_device(uuid, name).close()
    except DeviceBusy as error:
        return str(error)
    return ""


def _open(path: Path) -> int:
    """The lock's file, made if it is not there. Anything may lie in its stead where all users may write.

    Reading is enough to lock; writing is for the holder's note. O_CREAT comes second, with O_EXCL: in a
    sticky folder the kernel refuses O_CREAT for files of other users (sysctl fs.protected_regular).
    """
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY  # a FIFO must not wait for a writer
    try:
        descriptor = _open_or_make(path, flags)
    except OSError as error:
        cure = "remove it" if os.path.lexists(path) else f"make its folder {path.parent}, for all to write to"
        raise OSError(
            f"{path}, which locks the device, cannot be opened ({error.strerror}); {cure}."
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path}, which locks the device, is no plain file; remove it.")
    return descriptor


def _open_or_make(path: Path, flags: int) -> int:
    for mode in (os.O_RDWR, os.O_RDONLY):  # a file that another user made before all had to be able to write
        with contextlib.suppress(FileNotFoundError, PermissionError):
            return os.open(path, flags | mode)
    try:
        descriptor = os.open(path, flags | os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:  # another worker made it just now, or it may not be read
        return os.open(path, flags | os.O_RDONLY)
    os.fchmod(descriptor, 0o666)  # whatever the umask
    return descriptor


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the file that was locked is the one that others will find."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _write_holder(descriptor: int) -> None:
    """For those who are refused. The lock holds without it: a disk may be full."""
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(Holder(os.getpid(), os.getuid(), time.time())), 0)


def _holder_text(descriptor: int) -> str:
    """Such as `` (process 4711 of alice, since 14:05)``; "" where it cannot be known.

    The kernel's own list goes before the note, which any user may have written.
    """
    note, pid = _note(descriptor), _pid_in_kernels_list(os.fstat(descriptor))
    if note and pid in (None, note.pid):
        with contextlib.suppress(OverflowError, ValueError, OSError):
            since = datetime.fromtimestamp(note.since_s).astimezone()
            today = since.date() == datetime.now().astimezone().date()
            when = since.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")
            return f" (process {note.pid} of {_user_name(note.uid)}, since {when})"
    if pid:
        with contextlib.suppress(psutil.Error):
            return f" (process {pid} of {_user_name(psutil.Process(pid).uids().real)})"
        return f" (process {pid})"
    return ""


def _note(descriptor: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, _MOST_WRITTEN, 0), type=Holder)
    except (OSError, ValueError):  # not written yet, or by something else
        return None


def _pid_in_kernels_list(file: os.stat_result) -> int | None:
    """Who holds a file by /proc/locks; None where that is hidden or the holder is in another container."""
    wanted = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    try:
        lines = _KERNELS_LIST.read_text().splitlines()
    except OSError:
        return None
    for fields in map(str.split, lines):
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == wanted and fields[4].isdecimal():
            return int(fields[4]) or None
    return None


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):  # of another container
        return f"user {uid}"
