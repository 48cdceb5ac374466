"""Rows to 8-bit integers: a scale for each row, set by its largest element.

Compulsory work of rows x cols: 3 rows cols FLOP (largest magnitude, quotient, rounding); x is read once, a
row is kept on chip until its scale is known, and a byte an element and a scale a row are written.
"""

from roofscope import Axis, Element, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import ODD_ROWS, ROWS

SPEC = KernelSpec(
    name="quantize_int8",
    title="Quantise rows to int8",
    formula="q[r, c] = round(x[r, c] / scale[r]), scale[r] = max_c |x[r, c]| / 127, 1 for a row of zeros",
    axes=(Axis("rows", "rows of x, with a scale each"), Axis("cols", "columns of x", minimum=1)),
    inputs=(TensorSpec("x", ("rows", "cols")),),
    outputs=(
        TensorSpec("q", ("rows", "cols"), element=Element.INT8),
        TensorSpec("scale", ("rows",), element=Element.FLOAT32),
    ),
    work=WorkFormula(flop_count="3*rows*cols", read_bytes="rows*cols*s", write_bytes="rows*cols + rows*4"),
    # Codes are whole numbers of about 127/sqrt(3) in size. The quotient in float32 is off by up to 1.5 2^-23
    # of itself, 2.3e-5 at 127: one element in 1e5 of a uniform row lies nearer than that to a tie, and may
    # get the neighbouring code. A neighbour in every 200 elements is 1e-3; cutting off instead of rounding is
    # 8e-3.
    tolerance=Tolerance(float32=1e-3, float16=1e-3, bfloat16=2e-3),
    presets=ROWS,
    odd_sizes=(
        *ODD_ROWS,
        {"rows": 3, "cols": 17001},
        {"rows": 1, "cols": 300_007},  # few long rows: pieces for the grid
        {"rows": 700, "cols": 19},  # short ones, of which a warp has several
    ),
    large_magnitude=1e4,
    sweep=tuple({"rows": rows, "cols": 4096} for rows in (16, 64, 256, 1024, 2048, 4096, 16384, 65536)),
)
