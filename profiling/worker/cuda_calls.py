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
