"""Measures how fast arithmetic can be: multiply-adds in registers, and matrix products on every pipe."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from math import isqrt
from typing import Any, NamedTuple

import torch
from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.roofline.nameplate import tensor_class
from roofscope.profiling.roofline.roofline import Source
from roofscope.profiling.worker.ceilings.block_times import BlockTimes, Reading
from roofscope.profiling.worker.ceilings.probes import (
    EXP2,
    FMA_BFLOAT162,
    FMA_FLOAT32,
    FMA_FLOAT64,
    FMA_HALF2,
    TANH,
    Loop,
)
from roofscope.profiling.worker.ceilings.testbed import Testbed
from roofscope.profiling.worker.failures import Unavailable

_ROUNDS = 1024  # 2 ms of FP32 on an H200, of which launch and tail are 0.2 %
_TILE = (128, 256)  # of the output, as the fastest kernels of cuBLAS cut it
_WAVES = 8  # of tiles, so that the multiprocessors end together


class Shape(NamedTuple):
    """A product of (m, k) and (k, n)."""

    m: int
    n: int
    k: int

    @property
    def flop_count(self) -> int:
        return 2 * self.m * self.n * self.k

    def __str__(self) -> str:
        return f"{self.m} x {self.k} by {self.k} x {self.n}"


MakeCall = Callable[[torch.device, Shape], Callable[[], object]]


class Product(Struct, frozen=True):
    """A way to multiply matrices: its name, and a function that prepares one such call."""

    name: str  # such as "torch.mm of bfloat16 matrices"
    make: MakeCall
    noise: str = "uniform in [-1, 1]"


def matmul(dtype: torch.dtype, remark: str = "") -> Product:
    """``torch.mm`` of uniform noise in [-1, 1]; zeros would run 7 to 15 % too fast."""

    def make(device: torch.device, shape: Shape) -> Callable[[], object]:
        a = torch.empty(shape.m, shape.k, dtype=dtype, device=device).uniform_(-1, 1)
        b = torch.empty(shape.k, shape.n, dtype=dtype, device=device).uniform_(-1, 1)
        return partial(torch.mm, a, b, out=torch.empty(shape.m, shape.n, dtype=dtype, device=device))

    return Product(f"torch.mm of {str(dtype).removeprefix('torch.')} matrices{remark}", make)


def float8_matmul() -> Product:
    """``torch._scaled_mm`` of e4m3, torch's way to cuBLASLt's FP8; the second matrix is stored by columns."""

    def make(device: torch.device, shape: Shape) -> Callable[[], object]:
        def noise(rows: int, cols: int) -> torch.Tensor:
            values = torch.empty(rows, cols, dtype=torch.bfloat16, device=device).uniform_(-1, 1)
            return values.to(torch.float8_e4m3fn)

        a, b = noise(shape.m, shape.k), noise(shape.n, shape.k).t()
        one = torch.ones((), device=device)
        multiply: Any = torch.ops.aten._scaled_mm
        return partial(multiply, a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)

    return Product("torch._scaled_mm of e4m3 matrices with fast accumulation", make)


def int8_matmul() -> Product:
    """``torch._int_mm``, torch's way to cuBLASLt's INT8; the second matrix is stored by columns."""

    def make(device: torch.device, shape: Shape) -> Callable[[], object]:
        a = torch.randint(-127, 128, (shape.m, shape.k), dtype=torch.int8, device=device)
        b = torch.randint(-127, 128, (shape.n, shape.k), dtype=torch.int8, device=device).t()
        out = torch.empty(shape.m, shape.n, dtype=torch.int32, device=device)
        multiply: Any = torch.ops.aten._int_mm
        return partial(multiply.out, a, b, out=out)

    return Product("torch._int_mm of int8 matrices", make, "uniform in -127 to 127")


def fp32(testbed: Testbed) -> list[Reading]:
    """The FP32 pipe by two uses: multiply-adds without memory, and IEEE matrix products."""
    product = measure_product(testbed, matmul(torch.float32, " in IEEE arithmetic"), held=False)[0]
    loop = _loop(testbed, FMA_FLOAT32)
    if loop is None:
        _, why_not = testbed.own_kernels
        remark = f" No multiply-add loop was tried: {why_not}" if why_not else ""
        return [Reading(product.value, product.method + remark, product.timing)]
    best, other = (loop, product) if loop.value > product.value else (product, loop)
    method = f"{best.method} Besides, {other.value / 1e12:.1f} TFLOP/s: {other.method}"
    return [Reading(best.value, method, best.timing)]


def fp64(testbed: Testbed) -> list[Reading]:
    """The FP64 vector pipe. The FP64 matrix pipe, on GPUs that have one, is another."""
    if not testbed.is_cuda:
        return []
    loop = _loop(testbed, FMA_FLOAT64)
    if loop:
        return [loop]
    _, why_not = testbed.own_kernels
    if _multiplies_fp64(testbed):
        raise Unavailable(f"a matrix product would use the tensor pipe, and no loop can: {why_not}")
    product = measure_product(testbed, matmul(torch.float64), held=False)[0]
    method = f"{product.method} No multiply-add loop was tried: {why_not}"
    return [Reading(product.value, method, product.timing)]


def fp64_tensor(testbed: Testbed) -> list[Reading]:
    """CuBLAS takes the FP64 matrix pipe by itself."""
    return measure_product(testbed, matmul(torch.float64), held=False) if _multiplies_fp64(testbed) else []


def half2(testbed: Testbed) -> list[Reading]:
    """The vector units on packed pairs of float16."""
    return _found(_loop(testbed, FMA_HALF2)) if testbed.is_cuda else []


def bfloat162(testbed: Testbed) -> list[Reading]:
    """The same of bfloat16, which have instructions of their own from compute capability 8.0 on."""
    return _found(_loop(testbed, FMA_BFLOAT162)) if _has(testbed, (8, 0)) else []


def special(testbed: Testbed) -> list[Reading]:
    """The special function units by two of their instructions; 16 results a multiprocessor and cycle."""
    if not testbed.is_cuda:
        return []
    found = [reading for loop in (EXP2, TANH) if (reading := _loop(testbed, loop))]
    found.sort(key=lambda reading: -reading.value)
    if len(found) < 2:
        return found
    best, other = found
    method = f"{best.method} Besides, {other.value / 1e12:.2f}e12 results/s: {other.method}"
    return [Reading(best.value, method, best.timing)]


def fp16(testbed: Testbed) -> list[Reading]:
    readings = measure_product(testbed, matmul(torch.float16))
    row = tensor_class(testbed.device)
    if not testbed.is_cuda or row is None or row.fp16_sums:
        return readings
    remark = f"Sums in FP16 are not faster on {row.name}: this ceiling stands for both."
    return [replace(reading, method=f"{reading.method} {remark}") for reading in readings]


def fp16_sums(testbed: Testbed) -> list[Reading]:
    """Sums in FP16, where they are faster than sums in FP32, or nothing is known of that."""
    row = tensor_class(testbed.device)
    if not testbed.is_cuda or (row is not None and not row.fp16_sums):
        return []
    with float16_sums():
        return measure_product(testbed, matmul(torch.float16, " with sums in FP16"))


def bf16(testbed: Testbed) -> list[Reading]:
    if testbed.is_cuda and not _has(testbed, (8, 0)):
        return []
    return measure_product(testbed, matmul(torch.bfloat16))


def tf32(testbed: Testbed) -> list[Reading]:
    return (
        measure_product(testbed, matmul(torch.float32, " with TF32 allowed"), "high")
        if _has(testbed, (8, 0))
        else []
    )


def fp8(testbed: Testbed) -> list[Reading]:
    return measure_product(testbed, float8_matmul()) if _has(testbed, (8, 9)) else []


def int8(testbed: Testbed) -> list[Reading]:
    return measure_product(testbed, int8_matmul(), held=False) if _has(testbed, (7, 5)) else []


def _multiplies_fp64(testbed: Testbed) -> bool:
    """Whether the GPU has a matrix pipe for FP64; products with a small FP64 unit have none to speak of."""
    return testbed.is_cuda and torch.cuda.get_device_capability(testbed.torch_device) in (
        (8, 0),
        (9, 0),
        (10, 0),
    )


def _has(testbed: Testbed, capability: tuple[int, int]) -> bool:
    """INT8 came with compute capability 7.5, BF16 and TF32 with 8.0, FP8 with 8.9."""
    return testbed.is_cuda and torch.cuda.get_device_capability(testbed.torch_device) >= capability


def _loop(testbed: Testbed, loop: Loop) -> Reading | None:
    """None without our own kernels."""
    probes, _ = testbed.own_kernels
    if probes is None:
        return None
    flop_count = probes.repeat(loop, _ROUNDS)
    timing = testbed.time_blocks(lambda: probes.repeat(loop, _ROUNDS)).fastest
    method = f"A loop of {loop.name} in registers on every lane, {timing.text} runs{timing.clock_text}."
    return Reading(flop_count / timing.median_s, method, timing)


def _found(reading: Reading | None) -> list[Reading]:
    return [reading] if reading else []


def measure_product(
    testbed: Testbed, product: Product, precision: str = "highest", *, held: bool = True
) -> list[Reading]:
    """The best shape in a burst and, where the pace allows, that shape under held load."""
    with float32_matmul_precision(precision):
        bursts = [(_burst(testbed, product, shape), shape) for shape in _shapes(testbed, product)]
        best, shape = max(bursts, key=lambda burst: burst[0].value)
        if not (held and testbed.pace.held_s):
            return [best]
        return [best, _sustained(testbed, product, shape)]


def _burst(testbed: Testbed, product: Product, shape: Shape) -> Reading:
    timing = testbed.time_blocks(product.make(testbed.torch_device, shape), testbed.pace.pause_s).fastest
    method = f"{product.name}, {shape}, {product.noise}, {timing.text} short runs{timing.clock_text}."
    return Reading(shape.flop_count / timing.median_s, method, timing)


def _sustained(testbed: Testbed, product: Product, shape: Shape) -> Reading:
    timing = testbed.hold(product.make(testbed.torch_device, shape))
    method = (
        f"{product.name}, {shape}, {product.noise}, held for {testbed.pace.held_s:g} s "
        f"after {testbed.pace.settle_s:g} s{timing.clock_text}{_power_text(timing)}."
    )
    return Reading(shape.flop_count / timing.median_s, method, timing, Source.MEASURED_SUSTAINED)


def _power_text(timing: BlockTimes) -> str:
    return f" and {timing.power_w:.0f} W" if timing.power_w else ""


def _shapes(testbed: Testbed, product: Product) -> list[Shape]:
    """The largest square that the user's patience allows, its half, and whole waves of tiles."""
    side = _largest_side(testbed, product)
    squares = [Shape(s, s, s) for s in testbed.pace.matmul_sides if s in (side // 2, side)]
    count = testbed.device.multiprocessor_count
    if not testbed.is_cuda or not count:
        return squares
    waves = whole_waves(count, side)
    # A small matrix on a large GPU does not fill eight waves.
    return [*squares, waves] if waves.flop_count <= 2 * squares[-1].flop_count else squares


def whole_waves(multiprocessor_count: int, k: int) -> Shape:
    """A product whose output is a whole number of tiles for every multiprocessor, and nearly square."""
    tiles = _WAVES * multiprocessor_count
    ideal = isqrt(tiles * _TILE[1] // _TILE[0])
    rows = min((r for r in range(1, tiles + 1) if tiles % r == 0), key=lambda r: abs(r - ideal))
    return Shape(rows * _TILE[0], tiles // rows * _TILE[1], k)


def _largest_side(testbed: Testbed, product: Product) -> int:
    for side in testbed.pace.matmul_sides[:-1]:
        call = product.make(testbed.torch_device, Shape(side, side, side))
        call()
        # Twice the side is eight times the work. The least of three counts, so that a busy moment does not
        # decide.
        if 8 * min(testbed.seconds_per_call(call, 2) for _ in range(3)) > testbed.pace.matmul_call_s:
            return side
    return testbed.pace.matmul_sides[-1]


@contextmanager
def float32_matmul_precision(precision: str) -> Generator[None]:
    """``highest`` is IEEE FP32, ``high`` allows TF32; the earlier setting is restored."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def float16_sums() -> Generator[None]:
    """Lets cuBLAS sum products of float16 in FP16; the earlier setting is restored."""
    setting = torch.backends.cuda.matmul
    before = setting.allow_fp16_accumulation
    setting.allow_fp16_accumulation = True
    try:
        yield
    finally:
        setting.allow_fp16_accumulation = before
