"""Gradient of RMS norm over the rows of a matrix: dx and dw from dy, x, w and the rows' 1 / root mean square.

Compulsory work of rows x cols: 9 rows cols FLOP (normalising x, weight, row sum in 2, column sum in 2, dx
in 3); dy and x are read once, dx is written once. The rstd here is independent of x: any number is as good.
"""

from roofscope import Axis, Element, Fill, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import EMPTY_ROWS, ODD_ROWS, ROW_SWEEP, ROWS

SPEC = KernelSpec(
    name="rms_norm_backward",
    title="RMS norm backward",
    formula="h = x rstd_r; g = dy w; dx = rstd_r (g - h mean_c(g h)); dw = sum_r dy h",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x, normalised together")),
    inputs=(
        TensorSpec("dy", ("rows", "cols")),
        TensorSpec("x", ("rows", "cols")),
        TensorSpec("w", ("cols",)),
        TensorSpec("rstd", ("rows",), Element.FLOAT32, Fill.POSITIVE),
    ),
    outputs=(TensorSpec("dx", ("rows", "cols")), TensorSpec("dw", ("cols",))),
    work=WorkFormula(
        flop_count="9*rows*cols",
        read_bytes="(2*rows*cols + cols)*s + 4*rows",
        write_bytes="(rows*cols + cols)*s",
    ),
    # float32: sums of terms of either sign over rows and columns, as in weighted_sum. The 16-bit types are
    # summed in float32: the final rounding is what remains.
    tolerance=Tolerance(float32=2e-5, float16=1e-3, bfloat16=8e-3),
    presets=ROWS,
    odd_sizes=(
        *ODD_ROWS,
        EMPTY_ROWS,
        {"rows": 3, "cols": 17001},
        {"rows": 700, "cols": 19},
        {"rows": 41, "cols": 33_333},
        {"rows": 37, "cols": 16_376},  # whole packs: rows for a block, for clusters of two sizes
        {"rows": 21, "cols": 30_728},
        {"rows": 11, "cols": 40_008},
        {"rows": 1, "cols": 300_007},
    ),
    large_magnitude=4.0,  # one column: dx is the product of four inputs, which float16 must hold
    sweep=(*ROW_SWEEP[:-1], {"rows": 16384, "cols": 16384}),
)
