"""Gradient of softmax over the rows of a matrix: dx from dy and the y that came out.

Compulsory work of rows x cols: 4 rows cols FLOP (product and sum as an FMA, difference, product); dy and y
are read once, dx is written once.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import EMPTY_ROWS, ODD_ROWS, ROW_SWEEP, ROWS

SPEC = KernelSpec(
    name="softmax_backward",
    title="Softmax backward",
    formula="dx[r, c] = y[r, c] (dy[r, c] - sum_c dy[r, c] y[r, c])",
    axes=(Axis("rows", "rows of y"), Axis("cols", "columns of y, normalised together")),
    inputs=(TensorSpec("dy", ("rows", "cols")), TensorSpec("y", ("rows", "cols"))),
    outputs=(TensorSpec("dx", ("rows", "cols")),),
    work=WorkFormula(flop_count="4*rows*cols", read_bytes="2*rows*cols*s", write_bytes="rows*cols*s"),
    # float32: a sum of terms of either sign, as in weighted_sum; y here is anything, its rows do not sum to
    # 1. The 16-bit types are summed in float32: the final rounding is what remains.
    tolerance=Tolerance(float32=2e-5, float16=1e-3, bfloat16=8e-3),
    presets=ROWS,
    odd_sizes=(
        *ODD_ROWS,
        EMPTY_ROWS,
        {"rows": 3, "cols": 17001},
        {"rows": 133, "cols": 264},  # whole 16 bytes: short rows, few and many
        {"rows": 4101, "cols": 200},
        {"rows": 700, "cols": 19},
        {"rows": 2, "cols": 270_001},  # few long rows: pieces for the grid
    ),
    large_magnitude=4.0,  # of sums of 131072 products of up to 4 x 4, times 4, float16 holds the usual
    sweep=ROW_SWEEP,
)
