"""CUDA's driver and runtime by NVIDIA's bindings, which a machine without a GPU need not have."""

import importlib
from typing import Any


def driver() -> Any:
    return importlib.import_module("cuda.bindings.driver")


def runtime() -> Any:
    return importlib.import_module("cuda.bindings.runtime")


def checked(returned: tuple[Any, ...], refused: str) -> Any:
    """The value that a call gave, all of them where it gives several, None where it gives none.

    Raises RuntimeError with ``refused``, a clause, and the error's name.
    """
    error, *values = returned
    if int(error):
        raise RuntimeError(f"{refused}: {error.name}.")
    return values[0] if len(values) == 1 else tuple(values) or None


def make_current(ordinal: int, refused: str) -> None:
    """Make a GPU's primary context, which is torch's, current in this thread, where none is.

    Calls of the driver want one, and torch's own calls need not have made it so. Raises RuntimeError.
    """
    cuda = driver()
    current = checked(cuda.cuCtxGetCurrent(), refused)
    if current and int(current):
        return
    device = checked(cuda.cuDeviceGet(ordinal), refused)
    checked(cuda.cuCtxSetCurrent(checked(cuda.cuDevicePrimaryCtxRetain(device), refused)), refused)
