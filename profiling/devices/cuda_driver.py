"""What CUDA's driver tells of a GPU and NVML does not. No context is made: that would take memory there."""

import contextlib
import ctypes
from typing import Any
from uuid import UUID

from roofscope.profiling.devices.nvml import same_gpu

_L2_CACHE_SIZE = 38  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE of cuda.h
_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")


def l2_cache_bytes(uuid: str, driver: Any = None) -> int | None:
    """Size of the L2 cache of the GPU with this UUID; None where the driver does not tell."""
    driver = driver or _load()
    count = ctypes.c_int()
    if driver is None or driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return None
    for ordinal in range(count.value):
        device, identity, size = ctypes.c_int(), (ctypes.c_ubyte * 16)(), ctypes.c_int()
        if driver.cuDeviceGet(ctypes.byref(device), ordinal):
            continue
        if driver.cuDeviceGetUuid_v2(ctypes.byref(identity), device):
            continue
        if same_gpu(uuid, UUID(bytes=bytes(identity))):
            failed = driver.cuDeviceGetAttribute(ctypes.byref(size), _L2_CACHE_SIZE, device)
            return None if failed else size.value or None
    return None


def _load() -> Any:
    for name in _LIBRARIES:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    return None
