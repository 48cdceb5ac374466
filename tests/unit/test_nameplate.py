"""Formulas against data sheets, and against the wrong peaks that other tools print."""

import pytest

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.roofline.nameplate import (
    nameplate,
    nameplate_gap,
    nameplate_held,
    nameplate_limit,
    tensor_class,
)
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Source
from roofscope.profiling.roofline.unit_rates import unit_rates

LANES = {(7, 0): 64, (7, 5): 64, (8, 0): 64}


def gpu(
    name: str,
    capability: tuple[int, int],
    multiprocessors: int,
    clock_mhz: float = 0,
    memory_mhz: float = 0,
    bus: int = 0,
) -> Device:
    """A GPU as NVML would describe it."""
    return Device(
        id="cuda:0",
        kind=DeviceKind.CUDA,
        name=name,
        uuid="GPU-1",
        core_count=multiprocessors * LANES.get(capability, 128),
        multiprocessor_count=multiprocessors,
        compute_capability=capability,
        max_clock_hz=clock_mhz * 1e6 or None,
        max_memory_clock_hz=memory_mhz * 1e6 or None,
        bus_width_bits=bus or None,
    )


V100 = gpu("Tesla V100-SXM2-16GB", (7, 0), 80, 1530, 877, 4096)
T4 = gpu("Tesla T4", (7, 5), 40, 1590, 5001, 256)
A100_40 = gpu("NVIDIA A100-SXM4-40GB", (8, 0), 108, 1410, 1215, 5120)
A100_80 = gpu("NVIDIA A100-SXM4-80GB", (8, 0), 108, 1410, 1593, 5120)
RTX_3090 = gpu("NVIDIA GeForce RTX 3090", (8, 6), 82, 2100, 9751, 384)
RTX_4090 = gpu("NVIDIA GeForce RTX 4090", (8, 9), 128, 3105, 10501, 384)
L4 = gpu("NVIDIA L4", (8, 9), 58, 2040, 6251, 192)
L40S = gpu("NVIDIA L40S", (8, 9), 142, 2520, 9001, 384)
H100_SXM = gpu("NVIDIA H100 80GB HBM3", (9, 0), 132, 1980, 2619, 5120)
H100_PCIE = gpu("NVIDIA H100 PCIe", (9, 0), 114, 1755, 1593, 5120)
H200 = gpu("NVIDIA H200", (9, 0), 132, 1980, 3201, 6016)
B200 = gpu("NVIDIA B200", (10, 0), 148, 1965, 3996, 8192)
RTX_5090 = gpu("NVIDIA GeForce RTX 5090", (12, 0), 170, 3090, 14001, 512)

# FP32 and FP16 in TFLOP/s, bandwidth in GB/s: the published figures, except where the formula is known
# to differ (L40S 366 against 362, H200 4814 by NVML's bus, B200 8184 against 8000).
DATASHEETS = (
    (V100, 15.7, 125, 898),
    (T4, 8.1, 65, 320),
    (A100_40, 19.5, 312, 1555),
    (A100_80, 19.5, 312, 2039),
    (RTX_3090, 35.6, 71, 936),
    (RTX_4090, 82.6, 165, 1008),
    (L4, 30.3, 121, 300),
    (L40S, 91.6, 366, 864),
    (H100_SXM, 66.9, 989, 3352),
    (H100_PCIE, 51.2, 756, 2039),
    (H200, 66.9, 989, 4814),
    (B200, 74.5, 2255, 8184),
    (RTX_5090, 104.8, 209.5, 1792),
)


def value(ceilings: tuple[Ceiling, ...], bound: Bound) -> float | None:
    found = [ceiling.value for ceiling in ceilings if ceiling.bound is bound]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("device", "fp32", "fp16", "bandwidth"), DATASHEETS, ids=lambda v: getattr(v, "name", None)
)
def test_formulas_give_the_datasheet(device: Device, fp32: float, fp16: float, bandwidth: float) -> None:
    ceilings = nameplate(device, "now")
    assert value(ceilings, Bound.FP32) == pytest.approx(fp32 * 1e12, rel=0.006)
    assert value(ceilings, Bound.FP16) == pytest.approx(fp16 * 1e12, rel=0.004)
    assert value(ceilings, Bound.DRAM) == pytest.approx(bandwidth * 1e9, rel=0.002)
    assert all(c.source is Source.NAMEPLATE and c.device_uuid == "GPU-1" and c.method for c in ceilings)
    assert nameplate_gap(device) is None


@pytest.mark.parametrize(
    ("device", "tf32", "fp8"),
    [
        (A100_80, 156, None),
        (H100_SXM, 495, 1979),
        (L40S, 183, 733),
        (L4, 60.6, 242),
        (RTX_4090, 82.6, 330),
        (B200, 1128, 4510),
        (RTX_5090, 105, 419),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_tf32_and_fp8_give_the_datasheet(device: Device, tf32: float, fp8: float | None) -> None:
    ceilings = nameplate(device, "now")
    assert value(ceilings, Bound.TF32) == pytest.approx(tf32 * 1e12, rel=0.004)
    assert value(ceilings, Bound.FP8) == (pytest.approx(fp8 * 1e12, rel=0.004) if fp8 else None)
    assert value(ceilings, Bound.BF16) == value(ceilings, Bound.FP16)


def test_volta_and_turing_have_neither_bf16_nor_tf32() -> None:
    for device in (V100, T4):
        bounds = {ceiling.bound for ceiling in nameplate(device, "now")}
        assert bounds.isdisjoint({Bound.BF16, Bound.BFLOAT162, Bound.TF32, Bound.FP8, Bound.FP64_TENSOR})
        assert {Bound.DRAM, Bound.FP32, Bound.FP16, Bound.FP64, Bound.HALF2} <= bounds


# In TFLOP/s, by the data sheets and white papers that the tables name.
OTHER_PIPES = (
    (V100, Bound.FP64, 7.8),
    (V100, Bound.HALF2, 31.4),
    (T4, Bound.INT8, 130),
    (A100_80, Bound.FP64, 9.7),
    (A100_80, Bound.FP64_TENSOR, 19.5),
    (A100_80, Bound.HALF2, 78),
    (A100_80, Bound.BFLOAT162, 39),
    (A100_80, Bound.INT8, 624),
    (RTX_3090, Bound.FP16_SUMS, 142),
    (RTX_3090, Bound.HALF2, 35.6),
    (RTX_3090, Bound.INT8, 284),
    (L4, Bound.INT8, 242),
    (RTX_4090, Bound.FP16_SUMS, 330.3),
    (RTX_4090, Bound.BFLOAT162, 82.6),
    (RTX_4090, Bound.INT8, 660.6),
    (H100_SXM, Bound.FP64, 33.5),
    (H100_SXM, Bound.FP64_TENSOR, 66.9),
    (H100_SXM, Bound.HALF2, 133.8),
    (H100_SXM, Bound.BFLOAT162, 133.8),
    (H100_SXM, Bound.INT8, 1979),
    (B200, Bound.FP64, 37),
    (B200, Bound.FP64_TENSOR, 37),
    (RTX_5090, Bound.FP16_SUMS, 419),
    (RTX_5090, Bound.INT8, 838),
    (RTX_5090, Bound.HALF2, 104.8),
)


@pytest.mark.parametrize(("device", "bound", "expected"), OTHER_PIPES, ids=lambda v: getattr(v, "name", None))
def test_the_other_pipes_give_the_datasheet(device: Device, bound: Bound, expected: float) -> None:
    assert value(nameplate(device, "now"), bound) == pytest.approx(expected * 1e12, rel=0.008)


def test_special_functions_are_16_a_multiprocessor_and_cycle() -> None:
    assert value(nameplate(H200, "now"), Bound.SPECIAL) == 132 * 16 * 1980e6
    assert unit_rates((10, 3)) is None  # twice as many there, and no table knows the rest


def test_sums_in_fp16_are_another_pipe_on_geforce_only() -> None:
    of_class = {
        device.name: value(nameplate(device, "now"), Bound.FP16_SUMS) for device in (H200, A100_80, L4)
    }
    assert set(of_class.values()) == {None}


def test_no_reading_exceeds_the_formula_at_its_own_clock_or_the_highest() -> None:
    in_band = nameplate_limit(H200, Bound.BF16, 1592e6)
    assert in_band is not None
    assert in_band.value == pytest.approx(860.8e12, rel=1e-3)
    # Cards boost beyond the rated clock: 91 TFLOP/s at 2.78 GHz is an honest reading.
    boosted = nameplate_limit(RTX_4090, Bound.FP32, None)
    assert boosted is not None
    assert boosted.value == pytest.approx(128 * 128 * 2 * 3105e6)
    dram = nameplate_limit(H200, Bound.DRAM, 1592e6)
    assert dram is not None
    assert dram.value == pytest.approx(4814e9, rel=1e-3)
    assert nameplate_limit(H200, Bound.L2, 1592e6) is None
    assert nameplate_limit(gpu("NVIDIA Thing", (9, 0), 10, 2000), Bound.BF16, None) is None


def test_fp8_with_fast_accumulation_may_sum_in_fp16_where_that_is_faster() -> None:
    geforce, h200 = (nameplate_limit(device, Bound.FP8, 2e9) for device in (RTX_4090, H200))
    assert geforce is not None
    assert h200 is not None
    assert geforce.value == 128 * 2048 * 2e9
    assert h200.value == 132 * 8192 * 2e9


def test_a_nameplate_of_a_pipe_knows_its_clock() -> None:
    clocks = {ceiling.bound: ceiling.clock_hz for ceiling in nameplate(H200, "now")}
    assert (clocks[Bound.FP32], clocks[Bound.BF16], clocks[Bound.DRAM]) == (1980e6, 1830e6, None)


def test_clock_held_replaces_the_rated_clock() -> None:
    held = nameplate_held(H100_SXM, 1980e6, 2619e6, "now")
    assert value(held, Bound.FP16) == pytest.approx(1070e12, rel=0.001)
    assert {ceiling.source for ceiling in held} == {Source.NAMEPLATE_HELD}
    assert nameplate_held(H100_SXM, None, None, "now") == ()


@pytest.mark.parametrize(
    ("device", "bound", "wrong"),
    [
        (H100_SXM, Bound.FP16, 535e12),  # one formula for every compute capability from 8.0
        (RTX_4090, Bound.FP16, 661e12),
        (B200, Bound.FP16, 596e12),
        (RTX_5090, Bound.FP16, 838e12),  # sparse
        (L4, Bound.DRAM, 3350e9),  # the H100's row
        (H100_SXM, Bound.DRAM, 2000e9),  # the PCIe card's
        (H100_SXM, Bound.FP32, 494e12),  # TF32 taken for FP32
        (L4, Bound.FP8, 330.3e12),  # the RTX 4090's, for every 8.9
    ],
)
def test_wrong_peaks_of_other_tools_are_not_ours(device: Device, bound: Bound, wrong: float) -> None:
    ours = value(nameplate(device, "now"), bound)
    assert ours is not None
    assert abs(ours - wrong) > 0.05 * wrong


@pytest.mark.parametrize(
    ("name", "capability", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", (9, 0), "H100 and H200"),
        ("NVIDIA H100 NVL", (9, 0), "H100 and H200"),
        ("NVIDIA H200", (9, 0), "H100 and H200"),
        ("NVIDIA GH200 480GB", (9, 0), "H100 and H200"),
        ("NVIDIA H20", (9, 0), None),  # cut down
        ("NVIDIA L40S", (8, 9), "L4 and L40S"),
        ("NVIDIA L4", (8, 9), "L4 and L40S"),
        ("NVIDIA A10", (8, 6), "A10, A40 and RTX A6000"),
        ("NVIDIA A10G", (8, 6), None),  # another product, at half the rate
        ("NVIDIA RTX A6000", (8, 6), "A10, A40 and RTX A6000"),
        ("NVIDIA A100 80GB PCIe", (8, 0), "A100"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", (8, 9), "GeForce RTX 40"),
        ("Quadro RTX 8000", (7, 5), "T4 and Quadro RTX"),
        ("NVIDIA GeForce GTX 1660", (7, 5), None),  # no tensor pipes
        ("NVIDIA Thor", (11, 0), None),
    ],
)
def test_class_is_found_by_name_and_capability(
    name: str, capability: tuple[int, int], expected: str | None
) -> None:
    row = tensor_class(gpu(name, capability, 10))
    assert (row.name if row else None) == expected


def test_rated_clock_is_of_the_exact_product() -> None:
    laptop = gpu("NVIDIA GeForce RTX 4090 Laptop GPU", (8, 9), 76, clock_mhz=2040)
    assert value(nameplate(laptop, "now"), Bound.FP32) == pytest.approx(76 * 128 * 2 * 2040e6)
    ti = gpu("NVIDIA GeForce RTX 3090 Ti", (8, 6), 84, clock_mhz=1860)
    assert value(nameplate(ti, "now"), Bound.FP32) == pytest.approx(40.0e12, rel=0.001)


def test_unknown_class_gets_only_what_formulas_allow_and_says_so() -> None:
    unknown = gpu("NVIDIA Thing 9000", (10, 3), 100, clock_mhz=2000, memory_mhz=4000, bus=4096)
    ceilings = nameplate(unknown, "now")
    assert {ceiling.bound for ceiling in ceilings} == {Bound.DRAM, Bound.FP32}  # no figure for the others
    assert value(ceilings, Bound.FP32) == 100 * 128 * 2 * 2000e6
    assert value(ceilings, Bound.DRAM) == 2 * 4000e6 * 4096 / 8
    gap = nameplate_gap(unknown)
    assert gap is not None
    assert "NVIDIA Thing 9000" in gap
    assert "tensor" in gap


def test_missing_facts_take_their_ceilings_with_them() -> None:
    bare = Device("cuda:0", DeviceKind.CUDA, "NVIDIA H200", "GPU-1", compute_capability=(9, 0))
    assert nameplate(bare, "now") == ()
    gap = nameplate_gap(bare)
    assert gap is not None
    assert "bandwidth" in gap
    assert "FP32" in gap


def test_multiprocessors_stand_in_for_cores_and_the_other_way_round() -> None:
    no_cores = Device(
        "cuda:0", DeviceKind.CUDA, "NVIDIA H200", "GPU-1", multiprocessor_count=132, compute_capability=(9, 0)
    )
    no_multiprocessors = Device(
        "cuda:0", DeviceKind.CUDA, "NVIDIA H200", "GPU-1", core_count=16896, compute_capability=(9, 0)
    )
    assert nameplate(no_cores, "now") == nameplate(no_multiprocessors, "now") != ()


def test_cpu_has_no_nameplate() -> None:
    cpu = Device("cpu", DeviceKind.CPU, "Some CPU", "cpu-1", core_count=8, max_clock_hz=3e9)
    assert nameplate(cpu, "now") == ()
    assert nameplate_gap(cpu) is None
