"""Softmax over the rows of a matrix.

Compulsory work of rows x cols: 5 rows cols FLOP (maximum, difference, exp, sum, division), 2 rows cols
elements moved: a row that is kept on chip is read once, although its maximum must be known before its sum.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import EMPTY_ROWS, ODD_ROWS, ROWS

SPEC = KernelSpec(
    name="softmax",
    title="Softmax of rows",
    formula="y[r, c] = exp(x[r, c] - max_c x[r, c]) / sum_c exp(x[r, c] - max_c x[r, c])",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x, normalised together")),
    inputs=(TensorSpec("x", ("rows", "cols")),),
    outputs=(TensorSpec("y", ("rows", "cols")),),
    work=WorkFormula(flop_count="5*rows*cols", read_bytes="rows*cols*s", write_bytes="rows*cols*s"),
    # float32: a hardware exponential of 2^-22 of a rounded exponent, and a sum of up to 2^17 positive terms.
    # float16: results below 6.1e-5, usual in rows of more than 20 k columns, are subnormal and carry
    # fewer bits: 2e-3 at 131072 columns. bfloat16: the final rounding, at most 2^-8.
    tolerance=Tolerance(float32=5e-6, float16=4e-3, bfloat16=8e-3),
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
    large_magnitude=1e4,  # exp(1e4) overflows every type: the maximum must come off first
    sweep=(
        {"rows": 256, "cols": 256},
        {"rows": 2048, "cols": 512},
        {"rows": 8192, "cols": 1024},
        {"rows": 16384, "cols": 2048},
        {"rows": 16384, "cols": 4096},
        {"rows": 8192, "cols": 16384},
        {"rows": 2048, "cols": 65536},
        {"rows": 1024, "cols": 262144},
    ),
)
