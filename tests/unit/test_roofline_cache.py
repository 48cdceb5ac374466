from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.roofline.conditions import Conditions
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Mix, Source

GPU = Device("cuda:0", DeviceKind.CUDA, "NVIDIA H200", "GPU-1", driver_version="580.159", power_limit_w=700.0)
CPU = Device("cpu", DeviceKind.CPU, "Some CPU", "cpu-1", core_count=2)
KEY = CacheKey.of(GPU, "2.11.0")
CEILINGS = (
    Ceiling(Bound.DRAM, Source.MEASURED_BURST, 4.49e12, "By reading.", "GPU-1", "now", Mix.READ),
    Ceiling(Bound.BF16, Source.MEASURED_BURST, 7.96e14, "By multiplying.", "GPU-1", "now"),
)


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def cache(tmp_path: Path, notices: list[str]) -> CeilingCache:
    return CeilingCache(notices.append, tmp_path / "deep" / "ceilings")


def test_ceilings_come_back(cache: CeilingCache, notices: list[str]) -> None:
    cache.save(KEY, CEILINGS)
    assert cache.load(KEY) == CEILINGS
    assert notices == []
    assert [path.suffix for path in cache.folder.iterdir()] == [".json"]


def test_saving_again_replaces(cache: CeilingCache) -> None:
    cache.save(KEY, CEILINGS)
    cache.save(KEY, CEILINGS[:1])
    assert cache.load(KEY) == CEILINGS[:1]


@pytest.mark.parametrize(
    "key",
    [
        CacheKey.of(replace(GPU, uuid="GPU-2"), "2.11.0"),
        CacheKey.of(replace(GPU, driver_version="590.1"), "2.11.0"),
        CacheKey.of(replace(GPU, power_limit_w=500.0), "2.11.0"),
        CacheKey.of(replace(GPU, core_count=1), "2.11.0"),
        CacheKey.of(GPU, "2.15.0"),
        CacheKey.of(replace(GPU, ecc_enabled=False), "2.11.0"),
        CacheKey.of(replace(GPU, max_memory_clock_hz=1.6e9), "2.11.0"),
        CacheKey.of(replace(GPU, application_clock_hz=1.2e9), "2.11.0"),
        CacheKey.of(replace(GPU, application_memory_clock_hz=1.2e9), "2.11.0"),
        replace(KEY, method_version=KEY.method_version + 1),
    ],
)
def test_another_key_finds_nothing(cache: CeilingCache, notices: list[str], key: CacheKey) -> None:
    cache.save(KEY, CEILINGS)
    assert cache.load(key) == ()
    assert notices == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"key": 1}', b"\xff\xfe", b"null"])
def test_broken_file_is_told_and_measured_anew(
    cache: CeilingCache, notices: list[str], content: bytes
) -> None:
    cache.save(KEY, CEILINGS)
    (path,) = cache.folder.iterdir()
    path.write_bytes(content)
    assert cache.load(KEY) == ()
    assert len(notices) == 1
    assert str(path) in notices[0]
    cache.save(KEY, CEILINGS)
    assert cache.load(KEY) == CEILINGS


@pytest.mark.parametrize(
    ("device", "days", "is_kept"),
    [(CPU, 6, True), (CPU, 8, False), (GPU, 29, True), (GPU, 31, False), (CPU, -1, True)],
    ids=["cpu", "cpu-old", "gpu", "gpu-old", "clock-set-back"],
)
def test_a_probe_grows_old(
    tmp_path: Path, notices: list[str], device: Device, days: int, is_kept: bool
) -> None:
    today = datetime(2026, 5, 1, tzinfo=UTC)
    key = CacheKey.of(device, "2.11.0")
    CeilingCache(notices.append, tmp_path, lambda: today).save(key, CEILINGS)
    later = CeilingCache(notices.append, tmp_path, lambda: today + timedelta(days=days))
    assert later.load(key) == (CEILINGS if is_kept else ())
    assert notices == []


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        (Conditions(event_reasons=("hardware slowdown",)), "BF16 was measured under hardware slowdown"),
        (Conditions(other_process_count=1), "BF16 was measured beside 1 other process on the GPU"),
        (Conditions(event_reasons=("application clock setting",)), "BF16 was measured at a locked clock"),
    ],
    ids=["hot", "shared", "locked"],
)
def test_what_was_measured_under_bad_conditions_is_not_kept(
    cache: CeilingCache, notices: list[str], conditions: Conditions, reason: str
) -> None:
    """All or none: the next session measures all again, and would not miss one."""
    cache.save(KEY, CEILINGS)
    cache.save(KEY, (CEILINGS[0], replace(CEILINGS[1], value=1.0, conditions=conditions)))
    assert len(notices) == 1
    assert reason in notices[0]
    assert cache.load(KEY) == CEILINGS  # the sound ones of before stay


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(event_reasons=("power cap",)),  # a condition of every run
        Conditions(left_out_count=3),  # slowed blocks that others replaced
        Conditions(event_reasons=("application clock setting",), application_clock_hz=1.2e9),  # in the key
    ],
)
def test_other_conditions_come_back_with_the_ceiling(
    cache: CeilingCache, notices: list[str], conditions: Conditions
) -> None:
    ceiling = replace(CEILINGS[1], clock_hz=1.592e9, conditions=conditions)
    cache.save(KEY, [ceiling])
    assert cache.load(KEY) == (ceiling,)
    assert notices == []


def test_unwritable_folder_is_told(tmp_path: Path, notices: list[str]) -> None:
    obstacle = tmp_path / "file"
    obstacle.write_text("")
    cache = CeilingCache(notices.append, obstacle / "ceilings")
    cache.save(KEY, CEILINGS)
    assert cache.load(KEY) == ()
    assert "cannot be kept" in notices[0]
