"""What the other pipes of a multiprocessor do in a cycle: a property of its compute capability alone.

The tensor pipes of one compute capability differ between products; ``nameplate.py`` has those.
"""

from msgspec import Struct

from roofscope.profiling.roofline.roofline import Bound


class UnitRates(Struct, frozen=True):
    """FLOP per multiprocessor and cycle (FMA = 2). None: no such unit, or no published figure."""

    compute_capability: tuple[int, int]
    fp64: int
    half2: int | None = None
    bfloat162: int | None = None
    fp64_tensor: int | None = None
    special: int = 16  # 4 special function units in each of 4 partitions, one result a cycle each

    def rates(self) -> tuple[tuple[Bound, int], ...]:
        rates = (
            (Bound.FP64, self.fp64),
            (Bound.FP64_TENSOR, self.fp64_tensor),
            (Bound.HALF2, self.half2),
            (Bound.BFLOAT162, self.bfloat162),
            (Bound.SPECIAL, self.special),
        )
        return tuple((bound, rate) for bound, rate in rates if rate)


UNIT_RATES = (
    # V100 white paper: FP64 7.8, FP16 without tensor cores 31.4 TFLOP/s.
    UnitRates((7, 0), 64, 256),
    # Turing white paper: RTX 2080 Ti FP16 26.9, FP64 a 32nd of FP32.
    UnitRates((7, 5), 4, 256),
    # A100 white paper: FP64 9.7, FP64 tensor 19.5, FP16 78, BF16 39.
    UnitRates((8, 0), 64, 512, 256, 128),
    # GA102 and Ada white papers: FP16 and BF16 as FP32 (RTX 3090 35.6, RTX 4090 82.6), FP64 a 64th.
    UnitRates((8, 6), 4, 256, 256),
    UnitRates((8, 9), 4, 256, 256),
    # H100 white paper, SXM: FP64 33.5, FP64 tensor 66.9, FP16 and BF16 133.8.
    UnitRates((9, 0), 128, 512, 512, 256),
    # HGX B200 data sheet: FP64 and FP64 tensor 37 TFLOP/s. Packed pairs: no figure.
    UnitRates((10, 0), 128, None, None, 128),
    # Blackwell RTX white paper: RTX 5090 FP16 and BF16 104.8, as FP32; FP64 a 64th.
    UnitRates((12, 0), 4, 256, 256),
)


def unit_rates(compute_capability: tuple[int, int] | None) -> UnitRates | None:
    return next((row for row in UNIT_RATES if row.compute_capability == compute_capability), None)
