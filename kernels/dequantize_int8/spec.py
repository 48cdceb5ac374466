"""8-bit codes back to numbers of the scales' dtype, a scale for each row.

Compulsory work of rows x cols: rows cols FLOP (a product each); a byte an element and a scale a row are read,
one element is written.
"""

from roofscope import Axis, Element, Fill, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import EMPTY_ROWS, ODD_ROWS, ROWS

SPEC = KernelSpec(
    name="dequantize_int8",
    title="Dequantise rows of int8",
    formula="x[r, c] = q[r, c] scale[r]",
    axes=(Axis("rows", "rows of q, with a scale each"), Axis("cols", "columns of q")),
    inputs=(
        TensorSpec("q", ("rows", "cols"), element=Element.INT8, fill=Fill.INTEGER, below="256"),
        TensorSpec("scale", ("rows",), fill=Fill.POSITIVE),
    ),
    outputs=(TensorSpec("x", ("rows", "cols")),),
    work=WorkFormula(flop_count="rows*cols", read_bytes="rows*cols + rows*s", write_bytes="rows*cols*s"),
    # One rounding of a product; of the 16-bit types the product itself is exact in float32.
    tolerance=Tolerance(float32=1e-7, float16=1e-3, bfloat16=8e-3),
    presets=ROWS,
    odd_sizes=(
        *ODD_ROWS,
        EMPTY_ROWS,
        {"rows": 7, "cols": 4112},
        {"rows": 401, "cols": 1003},
        {"rows": 40_001, "cols": 7},
    ),
    large_magnitude=1.0,  # codes and scales are of one size always
    sweep=tuple({"rows": rows, "cols": 4096} for rows in (16, 64, 256, 1024, 2048, 4096, 16384, 65536)),
)
