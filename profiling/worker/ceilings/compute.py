"""Measures how fast arithmetic can be: multiply-adds in registers, and matrix products on every pipe."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from msgspec import Struct

from roofscope.profiling.roofline.roofline import Source
from roofscope.profiling.worker.ceilings.testbed import BlockTimes, Reading, Testbed

_FMA_ROUNDS = 1024  # 2 ms on an H200, of which launch and tail are 0.2 %
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


def fp32(testbed: Testbed) -> list[Reading]:
    """The FP32 pipe by two uses: multiply-adds without memory, and IEEE matrix products."""
    product = measure_product(testbed, matmul(torch.float32, " in IEEE arithmetic"), held=False)[0]
    loop = _multiply_add(testbed, np.float32)
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
    loop = _multiply_add(testbed, np.float64)
    if loop:
        return [loop]
    product = measure_product(testbed, matmul(torch.float64), held=False)[0]
    _, why_not = testbed.own_kernels
    method = f"{product.method} It may use tensor pipes, but no multiply-add loop was tried: {why_not}"
    return [Reading(product.value, method, product.timing)]


def fp16(testbed: Testbed) -> list[Reading]:
    return measure_product(testbed, matmul(torch.float16))


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


def _has(testbed: Testbed, capability: tuple[int, int]) -> bool:
    """BF16 and TF32 came with compute capability 8.0, FP8 with 8.9."""
    return testbed.is_cuda and torch.cuda.get_device_capability(testbed.torch_device) >= capability


def _multiply_add(testbed: Testbed, real: type[np.float32] | type[np.float64]) -> Reading | None:
    probes, _ = testbed.own_kernels
    if probes is None:
        return None
    flop_count = probes.multiply_add(real, _FMA_ROUNDS)
    timing = testbed.time_blocks(lambda: probes.multiply_add(real, _FMA_ROUNDS))
    method = (
        f"A loop of {real.__name__} multiply-adds in registers on every lane, "
        f"{timing.fastest_text} runs{timing.clock_text}."
    )
    return Reading(flop_count / timing.fastest_s, method, timing)


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
    timing = testbed.time_blocks(product.make(testbed.torch_device, shape), testbed.pace.pause_s)
    method = (
        f"{product.name}, {shape}, uniform in [-1, 1], {timing.fastest_text} short runs{timing.clock_text}."
    )
    return Reading(shape.flop_count / timing.fastest_s, method, timing)


def _sustained(testbed: Testbed, product: Product, shape: Shape) -> Reading:
    timing = testbed.hold(product.make(testbed.torch_device, shape))
    method = (
        f"{product.name}, {shape}, uniform in [-1, 1], held for {testbed.pace.held_s:g} s "
        f"after {testbed.pace.settle_s:g} s{timing.clock_text}{_power_text(timing)}."
    )
    return Reading(shape.flop_count / timing.times_s[0], method, timing, Source.MEASURED_SUSTAINED)


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
