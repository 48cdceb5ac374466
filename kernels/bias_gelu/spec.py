"""GELU in its tanh form of a matrix plus a bias: the end of a feed-forward layer's first product.

Compulsory work of rows x cols: 10 rows cols FLOP (the sum, and GELU's nine), 2 rows cols + cols elements
moved.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import EMPTY_ROWS, ODD_ROWS

SPEC = KernelSpec(
    name="bias_gelu",
    title="Bias and GELU (tanh form)",
    formula="y = 0.5 z (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))), z[r, c] = x[r, c] + b[c]",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x, elements of b")),
    inputs=(TensorSpec("x", ("rows", "cols")), TensorSpec("b", ("cols",))),
    outputs=(TensorSpec("y", ("rows", "cols")),),
    work=WorkFormula(flop_count="10*rows*cols", read_bytes="(rows*cols + cols)*s", write_bytes="rows*cols*s"),
    # As gelu; in the 16-bit types eager rounds the sum too.
    tolerance=Tolerance(float32=2e-6, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", {"rows": 1024, "cols": 1024}),
        Preset("medium", {"rows": 4096, "cols": 4096}),
        Preset("large", {"rows": 16384, "cols": 4096}),
    ),
    sweep=tuple({"rows": rows, "cols": 4096} for rows in (4, 16, 64, 256, 1024, 4096, 16384, 65536)),
    odd_sizes=(*ODD_ROWS, EMPTY_ROWS, {"rows": 401, "cols": 1003}, {"rows": 40_001, "cols": 7}),
    large_magnitude=60.0,  # exp(2u) overflows float32 from z = 10: the textbook quotient gives NaN
)
