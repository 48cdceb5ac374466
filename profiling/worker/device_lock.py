"""One worker at a time per GPU: two that measure at once would both be wrong."""

import fcntl
import hashlib
import os
import tempfile
from pathlib import Path
from typing import IO


class DeviceBusy(Exception):
    """Another Roofscope worker holds the device; the text is one sentence."""


def lock_device(uuid: str, name: str) -> IO[str]:
    """Take the device's lock; it goes with the returned file, or with the process.

    Raises DeviceBusy. The file's name is a hash: a UUID may hold characters no file name may.
    """
    digest = hashlib.sha256(uuid.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"roofscope-{os.getuid()}-{digest}.lock"
    handle = path.open("a+")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        handle.close()
        raise DeviceBusy(
            f"Another Roofscope is measuring on {name}; wait until it is done, or stop it there."
        ) from error
    return handle
