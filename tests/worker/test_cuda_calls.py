"""Calls of CUDA's driver, by one that is not there."""

from typing import Any

import pytest

from roofscope.profiling.worker import cuda_calls


class Result(int):
    """An error's number, with its name."""

    @property
    def name(self) -> str:
        return "CUDA_SUCCESS" if self == 0 else "CUDA_ERROR_INVALID_DEVICE"


class Driver:
    """Has one GPU, and a context that is current or not."""

    def __init__(self, current: int) -> None:
        self.current = current
        self.retained: list[int] = []

    def cuCtxGetCurrent(self) -> tuple[Any, ...]:
        return Result(0), self.current

    def cuDeviceGet(self, ordinal: int) -> tuple[Any, ...]:
        return (Result(0), 70) if ordinal == 0 else (Result(101), 0)

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[Any, ...]:
        self.retained.append(device)
        return Result(0), 7000

    def cuCtxSetCurrent(self, context: int) -> tuple[Any, ...]:
        self.current = context
        return (Result(0),)


@pytest.mark.parametrize(("before", "after", "retained"), [(0, 7000, [70]), (8, 8, [])])
def test_a_context_is_made_current_where_none_is(
    before: int, after: int, retained: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(before)
    monkeypatch.setattr(cuda_calls, "driver", lambda: driver)
    cuda_calls.make_current(0, "It is not mapped")
    assert (driver.current, driver.retained) == (after, retained)


def test_a_gpu_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_calls, "driver", lambda: Driver(0))
    with pytest.raises(RuntimeError, match="It is not mapped: CUDA_ERROR_INVALID_DEVICE"):
        cuda_calls.make_current(1, "It is not mapped")
