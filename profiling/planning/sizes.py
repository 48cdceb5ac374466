"""Sizes that many kernels share: presets, sweeps, and odd sizes, at which every implementation must be right.

Every run verifies the first odd size of a kernel beside the measured size; the tests verify all of them.
"""

from roofscope.profiling.planning.spec import Preset

# One axis, n elements.
LENGTHS = (Preset("small", {"n": 2**20}), Preset("medium", {"n": 2**24}), Preset("large", {"n": 2**26}))
LENGTH_SWEEP = tuple({"n": 2**power} for power in range(14, 30, 2))
# No multiple of a block or of a 16-byte access; whole blocks but no power of two; empty; less than a warp.
ODD_LENGTHS = ({"n": 98433}, {"n": 98432}, {"n": 0}, {"n": 1}, {"n": 7}, {"n": 1031})

# Rows, each summed up, normalised or scaled as a whole.
ROWS = (
    Preset("small", {"rows": 4096, "cols": 1024}),
    Preset("medium", {"rows": 4096, "cols": 4096}),
    Preset("large", {"rows": 32768, "cols": 4096}),
)
ROW_SWEEP = (
    {"rows": 256, "cols": 256},
    {"rows": 2048, "cols": 512},
    {"rows": 8192, "cols": 1024},
    {"rows": 16384, "cols": 2048},
    {"rows": 16384, "cols": 4096},
    {"rows": 8192, "cols": 8192},
    {"rows": 8192, "cols": 16384},
    {"rows": 8192, "cols": 32768},
)
# An odd number of columns puts every row at another alignment.
ODD_ROWS = (
    {"rows": 37, "cols": 1031},
    {"rows": 1, "cols": 4097},
    {"rows": 257, "cols": 1},
    {"rows": 0, "cols": 1024},
    {"rows": 1, "cols": 1},
    {"rows": 5, "cols": 7},
    {"rows": 19, "cols": 4104},
    {"rows": 2, "cols": 98432},
    {"rows": 4097, "cols": 1031},
)
EMPTY_ROWS = {"rows": 3, "cols": 0}  # for work that is defined on them: a sum is 0, a maximum is not


def cube(size: int) -> dict[str, int]:
    """A product of square matrices."""
    return {"m": size, "n": size, "k": size}


# Products of an m x k by a k x n matrix.
PRODUCTS = (Preset("small", cube(512)), Preset("medium", cube(1024)), Preset("large", cube(8192)))
PRODUCT_SWEEP = tuple(cube(size) for size in (128, 256, 512, 1024, 2048, 3072, 4096, 8192))
ODD_PRODUCTS = (
    {"m": 129, "n": 257, "k": 65},  # one past every tile, rows of both inputs not 16-byte aligned
    {"m": 200, "n": 1003, "k": 517},
    {"m": 33, "n": 48, "k": 1},
    {"m": 1, "n": 300, "k": 160},
    {"m": 300, "n": 1, "k": 160},
    {"m": 0, "n": 64, "k": 64},
    {"m": 40, "n": 24, "k": 0},  # an empty sum is 0
)
