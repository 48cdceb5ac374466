"""Gradient of layer norm over the rows of a matrix: dx, dw, db from dy, x, w, mean and 1 / deviation.

Compulsory work of rows x cols: 12 rows cols FLOP (normalising x in 2, weight, two row sums in 3, two column
sums in 3, dx in 3); dy and x are read once, dx is written once. The mean and rstd here are independent of
x: any numbers are as good.
"""

from roofscope import Axis, Element, Fill, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import ROW_SWEEP, ROWS

SPEC = KernelSpec(
    name="layer_norm_backward",
    title="Layer norm backward",
    formula="h = (x - mean_r) rstd_r; g = dy w; dx = rstd_r (g - mean_c g - h mean_c(g h)); "
    "dw = sum_r dy h; db = sum_r dy",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x, normalised together")),
    inputs=(
        TensorSpec("dy", ("rows", "cols")),
        TensorSpec("x", ("rows", "cols")),
        TensorSpec("w", ("cols",)),
        TensorSpec("mean", ("rows",), Element.FLOAT32),
        TensorSpec("rstd", ("rows",), Element.FLOAT32, Fill.POSITIVE),
    ),
    outputs=(TensorSpec("dx", ("rows", "cols")), TensorSpec("dw", ("cols",)), TensorSpec("db", ("cols",))),
    work=WorkFormula(
        flop_count="12*rows*cols",
        read_bytes="(2*rows*cols + cols)*s + 8*rows",
        write_bytes="(rows*cols + 2*cols)*s",
    ),
    # float32: sums of terms of either sign over rows and columns, as in weighted_sum. The 16-bit types are
    # summed in float32: the final rounding is what remains.
    tolerance=Tolerance(float32=2e-5, float16=1e-3, bfloat16=8e-3),
    presets=ROWS,
    # An odd number of columns puts every row at another alignment. Not one element alone: of its dx all terms
    # but h² g cancel, and nothing is left in float32.
    odd_sizes=(
        {"rows": 37, "cols": 1031},
        {"rows": 1, "cols": 4097},
        {"rows": 257, "cols": 1},
        {"rows": 0, "cols": 1024},
        {"rows": 3, "cols": 0},
        {"rows": 5, "cols": 7},
        {"rows": 19, "cols": 4104},
        {"rows": 3, "cols": 17001},
        {"rows": 700, "cols": 19},
        {"rows": 41, "cols": 33_333},
        {"rows": 37, "cols": 16_376},  # whole packs: rows for a block, for clusters of two sizes
        {"rows": 21, "cols": 30_728},
        {"rows": 11, "cols": 40_008},
        {"rows": 1, "cols": 300_007},
        {"rows": 2, "cols": 98432},
        {"rows": 4097, "cols": 1031},
        {"rows": 133, "cols": 264},
    ),
    large_magnitude=4.0,  # one column: dx is the product of four inputs, which float16 must hold
    sweep=(*ROW_SWEEP[:-1], {"rows": 16384, "cols": 16384}),
)
