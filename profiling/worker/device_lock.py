"""Allows one worker at a time per GPU: two that measure at once would both read wrong times."""

import fcntl
import hashlib
import os
import stat
from pathlib import Path
from typing import IO

from roofscope.profiling.paths import lock_folder


class DeviceBusy(Exception):
    """Another Roofscope worker holds the device; the text is one sentence."""


def lock_device(uuid: str, name: str) -> IO[str]:
    """Take the device's lock, which is held until the returned file is closed or the process ends.

    Raises DeviceBusy. All users of the machine share one file. Its name is a hash, because a UUID may hold
    characters that a file name may not.
    """
    digest = hashlib.sha256(uuid.encode()).hexdigest()[:16]
    handle = os.fdopen(_open(lock_folder() / f"roofscope-{digest}.lock"))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        handle.close()
        raise DeviceBusy(
            f"Another Roofscope is measuring on {name}; wait until it is done, or stop it there."
        ) from error
    return handle


def _open(path: Path) -> int:
    """The lock's file, made if it is not there. Anything may lie in its stead where all users may write.

    Reading is enough to lock, also a file of another user. O_CREAT comes second: in a sticky folder the
    kernel refuses it for files of other users (sysctl fs.protected_regular).
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not wait for a writer
    try:
        try:
            handle = os.open(path, flags)
        except FileNotFoundError:
            handle = os.open(path, flags | os.O_CREAT, 0o666)
            os.fchmod(handle, 0o666)  # whatever the umask
    except OSError as error:
        raise OSError(f"{path}, which locks the device, cannot be opened ({error.strerror}).") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path}, which locks the device, is no plain file; remove it.")
    return handle
