"""Allows one worker at a time per GPU: two that measure at once would both read wrong times."""

import fcntl
import hashlib
import tempfile
from pathlib import Path
from typing import IO


class DeviceBusy(Exception):
    """Another Roofscope worker holds the device; the text is one sentence."""


def lock_device(uuid: str, name: str) -> IO[str]:
    """Take the device's lock, which is held until the returned file is closed or the process ends.

    Raises DeviceBusy. All users of the machine share one file. Its name is a hash, because a UUID may hold
    characters that a file name may not.
    """
    digest = hashlib.sha256(uuid.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"roofscope-{digest}.lock"
    if not path.exists():
        path.touch(mode=0o644)
    handle = path.open()  # reading is enough to lock, also a file of another user
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        handle.close()
        raise DeviceBusy(
            f"Another Roofscope is measuring on {name}; wait until it is done, or stop it there."
        ) from error
    return handle
