"""Layer norm over the rows of a matrix, with a scale and a shift of each column.

Compulsory work of rows x cols: 8 rows cols FLOP (the mean's sum, difference, square and its sum, scaling by
the deviation, weight, bias, the last two of the sum of squares as an FMA); a row that is kept on chip is
read once and written once, the scales and shifts are read once.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import ROW_SWEEP, ROWS

SPEC = KernelSpec(
    name="layer_norm",
    title="Layer norm of rows",
    formula="y[r, c] = (x[r, c] - mean_r) / sqrt(variance_r + 1e-5) w[c] + b[c]",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x, normalised together")),
    inputs=(TensorSpec("x", ("rows", "cols")), TensorSpec("w", ("cols",)), TensorSpec("b", ("cols",))),
    outputs=(TensorSpec("y", ("rows", "cols")),),
    work=WorkFormula(
        flop_count="8*rows*cols", read_bytes="(rows*cols + 2*cols)*s", write_bytes="rows*cols*s"
    ),
    # float32: sums of up to 2^17 terms and a hardware square root of 2^-22. The 16-bit types are normalised
    # in float32: the final rounding is what remains.
    tolerance=Tolerance(float32=5e-6, float16=1e-3, bfloat16=8e-3),
    presets=ROWS,
    # An odd number of columns puts every row at another alignment. Not one column: it is its own mean, and
    # what eager leaves of x - mean is rounding, times 316.
    odd_sizes=(
        {"rows": 37, "cols": 1031},
        {"rows": 1, "cols": 4097},
        {"rows": 257, "cols": 2},
        {"rows": 0, "cols": 1024},
        {"rows": 3, "cols": 0},
        {"rows": 1, "cols": 2},
        {"rows": 5, "cols": 7},
        {"rows": 19, "cols": 4104},
        {"rows": 3, "cols": 17001},
        {"rows": 2, "cols": 98432},
        {"rows": 4097, "cols": 1031},
        {"rows": 133, "cols": 264},  # whole 16 bytes: short rows, few and many
        {"rows": 4101, "cols": 200},
        {"rows": 133, "cols": 263},
        {"rows": 3, "cols": 70001},  # which several blocks share, each row at another alignment
    ),
    large_magnitude=1e4,
    sweep=ROW_SWEEP,
)
