"""RMS norm over rows, and each row at once to FP8 (E4M3) with a scale of its own: what feeds an FP8 product.

Compulsory work of rows x cols: 6 rows cols FLOP (4 of the norm; largest magnitude, quotient; a conversion is
none); a row that is kept on chip is read once, the scales of columns are read once; a byte an element and a
scale a row are written.
"""

from roofscope import Axis, Element, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import ROW_SWEEP, ROWS

SPEC = KernelSpec(
    name="rms_norm_quantize_fp8",
    title="RMS norm to FP8",
    formula=(
        "y[r, c] = x[r, c] / sqrt(mean_c x[r, c]^2 + 1e-6) w[c]; q[r, c] = e4m3(y[r, c] / scale[r]), "
        "scale[r] = max_c |y[r, c]| / 448, 1 for a row of zeros"
    ),
    axes=(
        Axis("rows", "rows of x, with a scale each"),
        Axis("cols", "columns of x, normalised together", minimum=1),
    ),
    inputs=(TensorSpec("x", ("rows", "cols")), TensorSpec("w", ("cols",))),
    outputs=(
        TensorSpec("q", ("rows", "cols"), element=Element.FLOAT8_E4M3),
        TensorSpec("scale", ("rows",), element=Element.FLOAT32),
    ),
    work=WorkFormula(
        flop_count="6*rows*cols", read_bytes="(rows*cols + cols)*s", write_bytes="rows*cols + rows*4"
    ),
    # The reference rounds to E4M3 too, so that most elements agree exactly, in every dtype: y is kept in
    # float32. Its error, some 2^-22, carries one element in 1e5 over a tie to the neighbouring code, 1/8 of
    # itself away at most, which is less than what a single element is allowed. In a row whose largest element
    # is several times the others one such element near it is off by more than the row's norm of many; of
    # millions of rows there are some, eager's too. To cut off instead of rounding is off by 4e-2.
    tolerance=Tolerance(float32=1.2e-2, float16=1.2e-2, bfloat16=1.2e-2),
    presets=ROWS,
    # An odd number of columns puts every row at another alignment.
    odd_sizes=(
        {"rows": 37, "cols": 1031},
        {"rows": 1, "cols": 4097},
        {"rows": 257, "cols": 1},
        {"rows": 0, "cols": 1024},
        {"rows": 1, "cols": 1},
        {"rows": 5, "cols": 7},
        {"rows": 19, "cols": 4104},
        {"rows": 2, "cols": 98432},
        {"rows": 3, "cols": 17001},
        {"rows": 2, "cols": 40_007},  # few long rows at any alignment
        {"rows": 133, "cols": 264},  # whole 16 bytes: short rows, few and many
        {"rows": 4101, "cols": 200},
        {"rows": 9, "cols": 16384},
    ),
    large_magnitude=1e4,
    sweep=ROW_SWEEP,
)
