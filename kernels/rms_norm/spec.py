"""RMS norm over the rows of a matrix, with a scale of each column.

Compulsory work of rows x cols: 4 rows cols FLOP (square and sum as an FMA, scaling, weight); a row that is
kept on chip is read once and written once, the scales are read once.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import EMPTY_ROWS, ODD_ROWS, ROW_SWEEP, ROWS

SPEC = KernelSpec(
    name="rms_norm",
    title="RMS norm of rows",
    formula="y[r, c] = x[r, c] / sqrt(mean_c x[r, c]^2 + 1e-6) w[c]",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x, normalised together")),
    inputs=(TensorSpec("x", ("rows", "cols")), TensorSpec("w", ("cols",))),
    outputs=(TensorSpec("y", ("rows", "cols")),),
    work=WorkFormula(flop_count="4*rows*cols", read_bytes="(rows*cols + cols)*s", write_bytes="rows*cols*s"),
    # float32: a sum of up to 2^17 positive terms and a hardware square root of 2^-22. The 16-bit types are
    # normalised in float32: the final rounding is what remains.
    tolerance=Tolerance(float32=5e-6, float16=1e-3, bfloat16=8e-3),
    presets=ROWS,
    odd_sizes=(
        *ODD_ROWS,
        EMPTY_ROWS,
        {"rows": 3, "cols": 17001},
        {"rows": 133, "cols": 264},  # whole 16 bytes: short rows, few and many
        {"rows": 4101, "cols": 200},
        {"rows": 133, "cols": 263},
        {"rows": 3, "cols": 70001},  # which several blocks share, each row at another alignment
    ),
    large_magnitude=1e4,
    sweep=ROW_SWEEP,
)
