"""The probe for real on this machine's CPU, and its rules on devices that are not here."""

import pytest
from msgspec.structs import replace

torch = pytest.importorskip("torch")

from profiling import host  # noqa: E402
from profiling.devices import Device, DeviceKind  # noqa: E402
from profiling.roofline import Bound, Ceiling, Mix, Source  # noqa: E402
from profiling.worker import bench, ceilings, environment  # noqa: E402

GIB = 2**30


@pytest.fixture
def small_cpu(monkeypatch: pytest.MonkeyPatch) -> Device:
    """This CPU, probed with small arrays and few blocks: the figures are rough but real."""
    pace = replace(
        bench.PACES[DeviceKind.CPU], block_s=1e-3, budget_s=0.01, least_repeats=3, matmul_sides=(64, 128)
    )
    monkeypatch.setitem(bench.PACES, DeviceKind.CPU, pace)
    return replace(host.cpu_device(), last_level_cache_bytes=2**20)


def probe(device: Device, *, stop_after: int = 1000) -> tuple[list[Ceiling], list[str]]:
    found: list[Ceiling] = []
    announced: list[str] = []

    def announce(detail: str, deadline_s: float) -> None:
        assert deadline_s > 0
        announced.append(detail)

    ceilings.measure_ceilings(device, found.append, lambda: len(found) >= stop_after, announce)
    return found, announced


def test_cpu_gets_every_ceiling_it_has(small_cpu: Device) -> None:
    found, announced = probe(small_cpu)
    assert [(ceiling.bound, ceiling.mix) for ceiling in found] == [
        (Bound.DRAM, Mix.COPY),
        (Bound.DRAM, Mix.READ),
        (Bound.DRAM, Mix.WRITE),
        (Bound.DRAM, Mix.TRIAD),
        (Bound.FP32, None),
        (Bound.FP16, None),
        (Bound.BF16, None),
    ]
    assert {"DRAM copy", "FP32"} <= set(announced)
    for ceiling in found:
        assert ceiling.device_uuid == small_cpu.uuid
        assert ceiling.source is Source.MEASURED_BURST
        assert ceiling.method.endswith(".")
        # A nanobyte or a petabyte a second would be a unit gone wrong.
        assert 1e7 < ceiling.value < 1e14
    assert torch.get_float32_matmul_precision() == "highest"


def test_stop_ends_the_probe_at_once(small_cpu: Device) -> None:
    found, announced = probe(small_cpu, stop_after=2)
    assert len(found) == len(announced) == 2


def test_bandwidth_counts_the_bytes_moved(small_cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 0.5
    monkeypatch.setattr(bench.Bench, "seconds_per_call", lambda *_: seconds)
    found, _ = probe(small_cpu, stop_after=4)
    size = bench.array_bytes(small_cpu, 64 * GIB)
    assert size == 64 * 2**20
    moved = {ceiling.mix: ceiling.value * seconds / size for ceiling in found}
    assert moved == {Mix.READ: 1, Mix.WRITE: 1, Mix.COPY: 2, Mix.TRIAD: 3}


def test_matmul_counts_two_flops_a_multiply_and_add(
    small_cpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.Bench, "seconds_per_call", lambda *_: 1e-3)
    found, _ = probe(small_cpu)
    values = {ceiling.bound: ceiling.value for ceiling in found if ceiling.mix is None}
    assert values[Bound.FP32] == pytest.approx(2 * 128**3 / 1e-3)


def fail_under_high_precision() -> None:
    with ceilings.float32_matmul_precision("high"):
        assert torch.get_float32_matmul_precision() == "high"
        raise ZeroDivisionError


def test_precision_comes_back_even_after_a_failure() -> None:
    torch.set_float32_matmul_precision("medium")
    try:
        with pytest.raises(ZeroDivisionError):
            fail_under_high_precision()
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(
    ("kind", "cache", "free", "expected"),
    [
        (DeviceKind.CUDA, 50 * 2**20, 140 * GIB, 4 * GIB),  # H200: large arrays, far from a quarter
        (DeviceKind.CUDA, 72 * 2**20, 24 * GIB, 2 * GIB),  # RTX 4090: a quarter of the free memory
        (DeviceKind.CUDA, 4 * 2**20, 3 * GIB, 256 * 2**20),
        (DeviceKind.CPU, 32 * 2**20, 64 * GIB, 128 * 2**20),  # four times the L3
        (DeviceKind.CPU, None, 64 * GIB, 64 * 2**20),
        (DeviceKind.CPU, 480 * 2**20, 24 * GIB, GIB),  # an eighth of the memory, in three arrays
    ],
)
def test_arrays_exceed_the_cache_within_the_memory(
    kind: DeviceKind, cache: int | None, free: int, expected: int
) -> None:
    device = Device("x", kind, "Some device", "x-1", last_level_cache_bytes=cache)
    assert bench.array_bytes(device, free) == expected


def test_small_arrays_are_owned_up_to(small_cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "array_bytes", lambda *_: 4 * 2**20)
    found, _ = probe(replace(small_cpu, last_level_cache_bytes=2 * 2**20), stop_after=1)
    assert "too small" in found[0].method
    found, _ = probe(replace(small_cpu, last_level_cache_bytes=2**20), stop_after=1)
    assert "too small" not in found[0].method


@pytest.mark.parametrize(
    ("capability", "architectures", "runs"),
    [
        ((9, 0), ("sm_80", "sm_90", "sm_90a"), True),
        ((8, 9), ("sm_80", "sm_86"), True),  # same major, lower minor
        ((8, 0), ("sm_86",), False),
        ((6, 1), ("sm_75", "sm_80"), False),
        ((12, 0), ("sm_80", "sm_90"), False),
        ((12, 0), ("sm_80", "compute_90"), True),  # PTX
        ((12, 1), ("sm_120",), True),
    ],
)
def test_torch_knows_its_gpus(
    capability: tuple[int, int], architectures: tuple[str, ...], runs: bool
) -> None:
    assert environment.runs_on(capability, architectures) is runs


def test_environment_ends_with_the_cpu() -> None:
    found = environment.read_environment()
    assert found.devices[-1].kind is DeviceKind.CPU
    assert all(device.kind is DeviceKind.CUDA for device in found.devices[:-1])
    assert any(package.name == "torch" for package in found.packages)
    assert all(sentence.endswith(".") for sentence in found.missing)
    if not torch.cuda.is_available():
        assert any("CUDA" in sentence or "GPU" in sentence for sentence in found.missing)
