"""The L2 cache, asked of a CUDA driver played by a small fake."""

import ctypes
from typing import Any
from uuid import UUID

import pytest

from roofscope.profiling.devices.cuda_driver import l2_cache_bytes

FIRST, SECOND = UUID(int=1), UUID(int=2)


class FakeDriver:
    """Two GPUs; every function writes through its pointer and returns CUDA's code, 0 for success."""

    def __init__(self, fails: str = "") -> None:
        self._fails = fails

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            if name == self._fails:
                return 100
            match name, arguments:
                case "cuInit", (0,):
                    pass
                case "cuDeviceGetCount", (count,):
                    count._obj.value = 2
                case "cuDeviceGet", (device, ordinal):
                    device._obj.value = ordinal
                case "cuDeviceGetUuid_v2", (identity, device):
                    ctypes.memmove(identity._obj, (FIRST, SECOND)[device.value].bytes, 16)
                case "cuDeviceGetAttribute", (size, 38, device):
                    size._obj.value = (40_000_000, 60_000_000)[device.value]
                case _:
                    raise AssertionError(f"{name}{arguments} must not be called")
            return 0

        return call


def test_the_cache_is_that_of_the_gpu_that_is_named() -> None:
    assert l2_cache_bytes(f"GPU-{FIRST}", FakeDriver()) == 40_000_000
    assert l2_cache_bytes(f"GPU-{SECOND}", FakeDriver()) == 60_000_000
    assert l2_cache_bytes(f"GPU-{UUID(int=3)}", FakeDriver()) is None


@pytest.mark.parametrize(
    "function", ["cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetUuid_v2", "cuDeviceGetAttribute"]
)
def test_what_the_driver_does_not_tell_is_none(function: str) -> None:
    assert l2_cache_bytes(f"GPU-{FIRST}", FakeDriver(fails=function)) is None
