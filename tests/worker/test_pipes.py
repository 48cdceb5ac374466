"""Which pipes are measured on which GPU, and how. No GPU: its capability and the products are played."""

from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from roofscope.profiling.devices.device import Device, DeviceKind  # noqa: E402
from roofscope.profiling.worker.ceilings import compute  # noqa: E402
from roofscope.profiling.worker.ceilings.block_times import Block, BlockTimes, Reading  # noqa: E402
from roofscope.profiling.worker.ceilings.probes import EXP2, TANH, Loop  # noqa: E402
from roofscope.profiling.worker.failures import Unavailable  # noqa: E402

TIMING = BlockTimes.of([Block(1.0, 1.98e9)])


@dataclass
class PlayedTestbed:
    """A GPU by name and capability, with or without our own kernels."""

    device: Device
    own_kernels: tuple[object, str] = (object(), "")
    is_cuda: bool = True
    torch_device: Any = None


def bed(name: str, capability: tuple[int, int], own_kernels: tuple[object, str] = (object(), "")) -> Any:
    device = Device("cuda:0", DeviceKind.CUDA, name, "GPU-1", compute_capability=capability)
    return PlayedTestbed(device, own_kernels)


@pytest.fixture(autouse=True)
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The products asked for; each says whether cuBLAS may sum float16 in FP16."""
    asked: list[str] = []

    def measure_product(
        _bed: object, product: compute.Product, *_: object, held: bool = True
    ) -> list[Reading]:
        sums = torch.backends.cuda.matmul.allow_fp16_accumulation
        asked.append(f"{product.name}, sums in FP16: {sums}, held: {held}")
        return [Reading(1e12, f"{product.name}.", TIMING)]

    rates = {EXP2: 4.1e12, TANH: 4.0e12}

    def loop(played_bed: PlayedTestbed, loop: Loop) -> Reading | None:
        has_kernels = played_bed.own_kernels[0] is not None
        return Reading(rates.get(loop, 1e12), f"{loop.name}.", TIMING) if has_kernels else None

    monkeypatch.setattr(compute, "measure_product", measure_product)
    monkeypatch.setattr(compute, "_loop", loop)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    return asked


def at(monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int]) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)


def test_where_sums_in_fp16_are_not_faster_one_ceiling_stands_for_both(played: list[str]) -> None:
    h200 = bed("NVIDIA H200", (9, 0))
    assert compute.fp16_sums(h200) == []
    (reading,) = compute.fp16(h200)
    assert reading.method.endswith("not faster on H100 and H200: this ceiling stands for both.")
    assert played == ["torch.mm of float16 matrices, sums in FP16: False, held: True"]


@pytest.mark.parametrize(
    "name", ["NVIDIA GeForce RTX 4090", "NVIDIA Thing 9000"], ids=["faster", "nothing known"]
)
def test_else_sums_in_fp16_are_a_ceiling_of_their_own(played: list[str], name: str) -> None:
    gpu = bed(name, (8, 9))
    assert "stands for both" not in compute.fp16(gpu)[0].method
    assert compute.fp16_sums(gpu)[0].method == "torch.mm of float16 matrices with sums in FP16."
    assert "sums in FP16: False" in played[0]
    assert "sums in FP16: True" in played[1]
    assert torch.backends.cuda.matmul.allow_fp16_accumulation is False  # restored


@pytest.mark.parametrize(
    ("capability", "has_int8", "has_fp64_tensor", "has_bfloat162"),
    [
        ((7, 0), False, False, False),
        ((7, 5), True, False, False),
        ((8, 0), True, True, True),
        ((8, 9), True, False, True),
        ((9, 0), True, True, True),
    ],
)
def test_a_pipe_is_measured_where_the_gpu_has_it(
    monkeypatch: pytest.MonkeyPatch,
    capability: tuple[int, int],
    has_int8: bool,
    has_fp64_tensor: bool,
    has_bfloat162: bool,
) -> None:
    at(monkeypatch, capability)
    gpu = bed("NVIDIA Thing", capability)
    assert bool(compute.int8(gpu)) is has_int8
    assert bool(compute.fp64_tensor(gpu)) is has_fp64_tensor
    assert bool(compute.bfloat162(gpu)) is has_bfloat162
    assert compute.half2(gpu)


def test_the_better_of_two_special_functions_counts_and_both_are_named() -> None:
    (reading,) = compute.special(bed("NVIDIA H200", (9, 0)))
    assert reading.value == 4.1e12
    assert reading.method == "ex2.approx. Besides, 4.00e12 results/s: tanh.approx."


def test_without_our_kernels_a_product_is_no_reading_of_the_fp64_vector_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """cuBLAS would take the tensor pipe, which is twice as fast, and be refused as false."""
    bare = (None, "cuda.core is not installed here.")
    with pytest.raises(Unavailable, match=r"tensor pipe.*cuda\.core"):
        compute.fp64(bed("NVIDIA H200", (9, 0), bare))
    at(monkeypatch, (8, 9))
    assert "No multiply-add loop" in compute.fp64(bed("NVIDIA L4", (8, 9), bare))[0].method
    assert compute.half2(bed("NVIDIA L4", (8, 9), bare)) == []
    assert compute.special(bed("NVIDIA L4", (8, 9), bare)) == []


def test_int8_products_are_of_noise_and_count_two_operations_each() -> None:
    product = compute.int8_matmul()
    result = product.make(torch.device("cpu"), compute.Shape(32, 16, 64))()
    assert isinstance(result, torch.Tensor)
    assert (result.dtype, tuple(result.shape)) == (torch.int32, (32, 16))
    assert result.float().std() > 0
    assert product.noise == "uniform in -127 to 127"
