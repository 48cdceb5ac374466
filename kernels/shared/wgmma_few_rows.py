"""Which tile computes a product of few rows in 16 bits: times fitted to these, beside those of strips.

Fitted to some 3000 times of 380 sizes on an H200, by the tiles of which each is the fastest somewhere.
"""

import functools
from dataclasses import replace

import torch

from roofscope.kernels.shared.tile_times import Plan, Tile, fastest
from roofscope.kernels.shared.wgmma_plans import TILES
from roofscope.kernels.shared.wgmma_refitted import Rates
from roofscope.kernels.shared.wgmma_strips import takes as do_strips_take

_RATES = Rates(
    line_ns=0,
    multicast_bytes_per_ns=165,
    alone_bytes_per_ns=122,
    dram_bytes_per_ns=4399,
    far=1.17,
    crowd_b_ns=0,
    crowd_a_ns=0.007,
    meet=1.61,
    vain_bytes=25,
)
# Of a tile, the nanoseconds of a step and of its start.
_FITTED = {
    "across_16x64_halves": (102, 440),
    "across_32x64_halves": (119, 480),
    "across_32x64_quarters": (90, 620),
    "across_48x64": (142, 410),
    "across_64x64_1x8": (98, 790),
    "across_64x128_quarters": (184, 800),
    "across_64x128_eighths": (192, 1090),
    "tile_64x128": (212, 1230),
    "tile_64x192_1x1": (160, 1550),
    "tile_64x128_1x1": (212, 920),
}
_LEAST_ELEMENTS = 2**20  # of B


@functools.cache
def tiles() -> dict[str, Tile]:
    """With what was fitted."""
    return {
        name: replace(TILES[name], step_ns=step_ns, start_ns=start_ns, rates=_RATES)
        for name, (step_ns, start_ns) in _FITTED.items()
    }


def takes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether the times are of such matrices."""
    return do_strips_take(a, b) and b.numel() >= _LEAST_ELEMENTS


@functools.lru_cache(maxsize=4096)
def best(
    m: int,
    n: int,
    steps: int,
    multiprocessors: int,
    aligned: tuple[bool, bool],
    clustered: tuple[int, int] | None = None,
    c_bytes: int = 2,
) -> tuple[str, Plan]:
    """The tile and plan of least time, of those that hold all rows."""
    sizes = (m, n, steps, multiprocessors, aligned, clustered, c_bytes)
    return fastest((item for item in tiles().items() if m <= item[1].rows), *sizes)
