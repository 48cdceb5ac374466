"""How many sets of buffers a job rotates, so that each call finds the cache cold."""

import pytest

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.worker.inputs import set_count

CACHE = 60 * 2**20
PLENTY = 2**37


@pytest.mark.parametrize(("of_cache", "sets"), [(0.25, 12), (1.0, 3), (2.0, 2), (10.0, 2)])
def test_rotating_touches_three_caches(of_cache: float, sets: int) -> None:
    assert set_count(int(of_cache * CACHE), CACHE, PLENTY) == sets


def test_sets_take_no_more_than_a_quarter_of_the_free_memory() -> None:
    assert set_count(CACHE, CACHE, 8 * CACHE) == 2
    assert set_count(CACHE, CACHE, CACHE) == 1


def test_empty_inputs_have_sets_too() -> None:
    assert set_count(0, CACHE, PLENTY) == 4096


def test_one_set_stays_hot_until_it_is_three_caches() -> None:
    device = Device("cuda:0", DeviceKind.CUDA, "GPU", "GPU-1", last_level_cache_bytes=CACHE)
    assert device.may_keep(3 * CACHE)
    assert not device.may_keep(3 * CACHE + 1)
