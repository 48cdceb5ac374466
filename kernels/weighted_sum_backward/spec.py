"""Gradients of the weighted sum of rows y = x w: an outer product, and a sum of columns.

Compulsory work of rows x cols: 3 rows cols FLOP (a product for dx, an FMA for dw); x, w and dy are read
once, dx and dw written once.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import EMPTY_ROWS, ODD_ROWS

SPEC = KernelSpec(
    name="weighted_sum_backward",
    title="Weighted sum of rows, backward",
    formula="dx[r, d] = dy[r] w[d]; dw[d] = sum_r dy[r] x[r, d]",
    axes=(Axis("rows", "rows of x, elements of dy"), Axis("cols", "columns of x, elements of w")),
    inputs=(TensorSpec("dy", ("rows",)), TensorSpec("x", ("rows", "cols")), TensorSpec("w", ("cols",))),
    outputs=(TensorSpec("dx", ("rows", "cols")), TensorSpec("dw", ("cols",))),
    work=WorkFormula(
        flop_count="3*rows*cols",
        read_bytes="(rows*cols + rows + cols)*s",
        write_bytes="(rows*cols + cols)*s",
    ),
    # dx: one rounding. dw, float32: as weighted_sum, a sum of r terms taken one by one is off by about
    # sqrt(r/2) 2^-25 of its usual size, 7e-6 at 100000. The 16-bit types are summed in float32: the rounding
    # of the sum is what remains.
    tolerance=Tolerance(float32=2e-5, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", {"rows": 4096, "cols": 1024}),
        Preset("medium", {"rows": 8192, "cols": 2048}),
        Preset("large", {"rows": 100_000, "cols": 4096}),
    ),
    odd_sizes=(
        *ODD_ROWS,
        EMPTY_ROWS,
        {"rows": 1031, "cols": 72},
    ),
    large_magnitude=10.0,  # sums of 131072 products of up to 10 x 10 stay within float16's 65504
    sweep=tuple({"rows": rows, "cols": 4096} for rows in (64, 256, 1024, 4096, 8192, 16384, 32768, 100_000)),
)
