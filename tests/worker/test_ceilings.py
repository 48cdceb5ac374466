"""The probe for real on this machine's CPU, and its rules on devices that are not here."""

from contextlib import nullcontext

import pytest
from msgspec.structs import replace

torch = pytest.importorskip("torch")

from roofscope.profiling.devices import host  # noqa: E402
from roofscope.profiling.devices.device import Device, DeviceKind, DeviceState  # noqa: E402
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Mix, Source  # noqa: E402
from roofscope.profiling.worker import environment  # noqa: E402
from roofscope.profiling.worker.ceilings import compute, measure, testbed  # noqa: E402
from roofscope.profiling.worker.ceilings.block_times import Block, BlockTimes, Reading  # noqa: E402

GIB = 2**30


@pytest.fixture
def small_cpu(monkeypatch: pytest.MonkeyPatch) -> Device:
    """This CPU, probed with small arrays and few blocks: the figures are rough but real."""
    pace = replace(
        testbed.PACES[DeviceKind.CPU],
        block_s=1e-3,
        budget_s=0.01,
        least_repeats=3,
        matmul_sides=(64, 128),
        passes=1,
    )
    monkeypatch.setitem(testbed.PACES, DeviceKind.CPU, pace)
    return replace(host.cpu_device(), last_level_cache_bytes=2**20)


def probe(device: Device, *, stop_after: int = 1000) -> tuple[list[Ceiling], list[str]]:
    found: list[Ceiling] = []
    announced: list[str] = []

    def announce(detail: str, deadline_s: float) -> None:
        assert deadline_s > 0
        announced.append(detail)

    measure.measure_ceilings(device, found.append, lambda: len(found) >= stop_after, announce)
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
        assert ceiling.value > 0
    assert torch.get_float32_matmul_precision() == "highest"


def test_stop_ends_the_probe_at_once(small_cpu: Device) -> None:
    found, announced = probe(small_cpu, stop_after=2)
    assert len(found) == len(announced) == 2


def test_bandwidth_counts_the_bytes_moved(small_cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 0.5
    monkeypatch.setattr(testbed.Testbed, "seconds_per_call", lambda *_: seconds)
    found, _ = probe(small_cpu, stop_after=4)
    size = testbed.array_bytes(small_cpu, 64 * GIB)
    assert size == 64 * 2**20
    moved = {ceiling.mix: ceiling.value * seconds / size for ceiling in found}
    assert moved == {Mix.READ: 1, Mix.WRITE: 1, Mix.COPY: 2, Mix.TRIAD: 3}


def test_matmul_counts_two_flops_a_multiply_and_add(
    small_cpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testbed.Testbed, "seconds_per_call", lambda *_: 1e-3)
    found, _ = probe(small_cpu)
    values = {ceiling.bound: ceiling.value for ceiling in found if ceiling.mix is None}
    assert values[Bound.FP32] == pytest.approx(2 * 128**3 / 1e-3)


class Play:
    """A probe of one ceiling whose readings are given, one list a pass."""

    def __init__(self, *passes: list[Reading]) -> None:
        self._passes = iter(passes)

    def __call__(self, _testbed: testbed.Testbed) -> list[Reading]:
        return next(self._passes)


def reading(
    value: float,
    source: Source = Source.MEASURED_BURST,
    clock_hz: float | None = None,
    reasons: tuple[str, ...] = (),
) -> Reading:
    """The driver says 1980 MHz at all times, as it did of bursts on an H200."""
    state = DeviceState(clock_hz=1.98e9, memory_clock_hz=3.2e9, event_reasons=reasons)
    return Reading(value, "Played.", BlockTimes.of([Block(1.0, clock_hz, (state,))]), source)


def play(monkeypatch: pytest.MonkeyPatch, *measurements: measure.Measurement) -> None:
    monkeypatch.setattr(measure, "MEASUREMENTS", measurements)


def test_the_best_of_two_passes_counts(small_cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy moment in either pass must not pass for the machine's limit."""
    monkeypatch.setitem(testbed.PACES, DeviceKind.CPU, replace(testbed.PACES[DeviceKind.CPU], passes=2))
    play(
        monkeypatch,
        measure.Measurement(Bound.FP32, Play([reading(1e9)], [reading(3e9)])),
        measure.Measurement(Bound.BF16, Play([reading(5e9)], [reading(2e9)])),
    )
    found, announced = probe(small_cpu)
    assert [(ceiling.bound, ceiling.value) for ceiling in found] == [(Bound.FP32, 3e9), (Bound.BF16, 5e9)]
    assert announced == ["FP32", "BF16"] * 2


def test_one_ceiling_that_fails_takes_no_other_with_it(
    small_cpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_testbed: testbed.Testbed) -> list[Reading]:
        raise RuntimeError("cuBLAS has no such kernel\nand more")

    play(
        monkeypatch,
        measure.Measurement(Bound.FP8, refuse),
        measure.Measurement(Bound.FP32, Play([reading(1e9)])),
    )
    found: list[Ceiling] = []
    said: list[str] = []
    measure.measure_ceilings(small_cpu, found.append, lambda: False, lambda *_: None, said.append)
    assert [ceiling.bound for ceiling in found] == [Bound.FP32]
    assert said == [f"The FP8 ceiling of {small_cpu.name} was not measured: cuBLAS has no such kernel"]


def test_memory_filled_by_others_ends_the_probe(small_cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out(_testbed: testbed.Testbed) -> list[Reading]:
        raise torch.cuda.OutOfMemoryError("no")

    play(monkeypatch, measure.Measurement(Bound.DRAM, run_out, Mix.READ))
    with pytest.raises(torch.cuda.OutOfMemoryError):
        probe(small_cpu)


@pytest.fixture
def h200(small_cpu: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """The nameplate asks for nothing but the facts of the device: an H200 whose probe is played."""
    monkeypatch.setattr(measure, "Testbed", lambda _device, stop: testbed.Testbed(small_cpu, stop))
    return Device(
        *("cpu", DeviceKind.CUDA, "NVIDIA H200", "GPU-1", 16896, 132, (9, 0)),
        max_clock_hz=1.98e9,
        max_memory_clock_hz=3.201e9,
        bus_width_bits=6016,
        ecc_enabled=True,
    )


def survey(device: Device) -> tuple[list[Ceiling], list[str]]:
    """The ceilings reported, and the sentences said."""
    found: list[Ceiling] = []
    said: list[str] = []
    measure.measure_ceilings(device, found.append, lambda: False, lambda *_: None, said.append)
    return found, said


def test_a_reading_above_the_nameplate_is_refused_and_so_is_what_nothing_checks(
    h200: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timers that tell a tenth of each time, as a user's file once made them."""
    play(
        monkeypatch,
        measure.Measurement(Bound.L2, Play([reading(9e12)]), Mix.READ),
        measure.Measurement(Bound.DRAM, Play([reading(43.5e12)]), Mix.COPY),
        measure.Measurement(Bound.L2, Play([reading(90e12)]), Mix.READ),
        measure.Measurement(Bound.BF16, Play([reading(8.49e14, clock_hz=1.6e9)])),
    )
    found: list[Ceiling] = []
    said: list[str] = []
    with pytest.raises(measure.FalseReadings, match="refused: DRAM copy, L2 read"):
        measure.measure_ceilings(h200, found.append, lambda: False, lambda *_: None, said.append)
    measured = [ceiling.bound for ceiling in found if ceiling.source.is_measured]
    assert measured == [Bound.L2, Bound.BF16]
    assert "43.5 TB/s is above 1.05 x its nameplate, 4.81 TB/s" in said[0]
    assert "90 TB/s" in said[1]
    assert len(said) == 2


@pytest.mark.parametrize(("clock_hz", "is_refused"), [(1.98e9, False), (1.6e9, True), (None, False)])
def test_what_a_pipe_can_do_is_judged_at_the_clock_in_band(
    h200: Device, monkeypatch: pytest.MonkeyPatch, clock_hz: float | None, is_refused: bool
) -> None:
    """1020 TFLOP/s are 95 % of the pipe at 1980 MHz and 118 % at 1600."""
    play(monkeypatch, measure.Measurement(Bound.BF16, Play([reading(1.02e15, clock_hz=clock_hz)])))
    if is_refused:
        with pytest.raises(measure.FalseReadings):
            survey(h200)
    else:
        assert survey(h200)[1] == []


def pretend_gpu(monkeypatch: pytest.MonkeyPatch, neighbour_count: int = 0) -> None:
    """The probe takes its CPU for a GPU beside so many others' processes."""
    monkeypatch.setattr(testbed.Testbed, "is_cuda", True)
    monkeypatch.setattr(testbed.Testbed, "release_arrays", lambda _: None)
    monkeypatch.setattr(testbed, "neighbour_counter", lambda _: lambda: neighbour_count)
    monkeypatch.setattr(measure.torch.cuda, "device", lambda _: nullcontext())


def test_a_ceiling_that_no_nameplate_checks_says_so(h200: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_gpu(monkeypatch)
    for device, remark in ((h200, ""), (replace(h200, name="NVIDIA Thing"), " No nameplate checks it.")):
        play(monkeypatch, measure.Measurement(Bound.BF16, Play([reading(5e14)])))
        assert survey(device)[0][0].method == f"Played.{remark}"


def test_a_ceiling_carries_its_clock_and_the_conditions(
    h200: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_gpu(monkeypatch, neighbour_count=2)
    play(monkeypatch, measure.Measurement(Bound.BF16, Play([reading(8e14, clock_hz=1.592e9)])))
    ceiling = survey(h200)[0][0]
    conditions = ceiling.conditions
    assert conditions is not None
    assert ceiling.clock_hz == conditions.clock_hz == 1.592e9
    assert (conditions.clock_low_hz, conditions.clock_high_hz) == (1.592e9, 1.592e9)
    assert conditions.sampled_clock_hz == 1.98e9
    assert (conditions.ecc_enabled, conditions.other_process_count) == (True, 2)
    assert ceiling.method == "Played. It was measured beside 2 other processes on the GPU."


def test_without_a_clock_in_band_the_nameplate_held_says_what_it_rests_on(
    h200: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(monkeypatch, measure.Measurement(Bound.BF16, Play([reading(8e14)])))
    measured, held = survey(h200)[0]
    assert measured.clock_hz is None
    assert held.source is Source.NAMEPLATE_HELD
    assert "1980 MHz (clock by the driver's samples, not in band)" in held.method


def test_the_nameplate_follows_the_clock_held_under_sustained_load(
    h200: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    burst, sustained = reading(8e14, clock_hz=1.7e9), reading(6e14, Source.MEASURED_SUSTAINED, 1.4e9)
    play(
        monkeypatch,
        measure.Measurement(Bound.DRAM, Play([reading(4e12)]), Mix.COPY),
        measure.Measurement(Bound.DRAM, Play([reading(5e12)]), Mix.READ),
        measure.Measurement(Bound.FP32, Play([reading(6e13, clock_hz=1.9e9)])),
        measure.Measurement(Bound.BF16, Play([burst, sustained])),
    )
    found, _ = probe(h200)
    held = {ceiling.bound: ceiling.value for ceiling in found if ceiling.source is Source.NAMEPLATE_HELD}
    assert held == {
        Bound.DRAM: 2 * 3.2e9 * 6016 / 8,
        Bound.FP32: 16896 * 2 * 1.9e9,
        Bound.BF16: 132 * 4096 * 1.4e9,
    }
    assert len([ceiling for ceiling in found if ceiling.source is Source.NAMEPLATE_HELD]) == 3
    assert [ceiling.value for ceiling in found if ceiling.source is Source.MEASURED_SUSTAINED] == [6e14]


@pytest.mark.parametrize("multiprocessors", [40, 58, 82, 108, 128, 132, 142, 148, 170])
def test_whole_waves_leave_no_multiprocessor_idle(multiprocessors: int) -> None:
    shape = compute.whole_waves(multiprocessors, 4096)
    tiles = shape.m // 128 * (shape.n // 256)
    assert (shape.m % 128, shape.n % 256, tiles % multiprocessors) == (0, 0, 0)
    # Long, thin outputs read more than they compute.
    assert 0.4 < shape.m / shape.n < 2.5


def fail_under_high_precision() -> None:
    with compute.float32_matmul_precision("high"):
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
    assert testbed.array_bytes(device, free) == expected


def test_small_arrays_are_owned_up_to(small_cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testbed, "array_bytes", lambda *_: 4 * 2**20)
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
