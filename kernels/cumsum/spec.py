"""Running sums along each row of a matrix: a sum for every element, where a plain sum has one a row.

Compulsory work of rows x cols: rows cols FLOP; the matrix is read once and written once: a block needs
the sum of all that comes before, so it has to wait for it, or the matrix is read twice.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import EMPTY_ROWS, ODD_ROWS

SPEC = KernelSpec(
    name="cumsum",
    title="Running sums of rows",
    formula="y[r, c] = sum_{i <= c} x[r, i]",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x, summed along")),
    inputs=(TensorSpec("x", ("rows", "cols")),),
    outputs=(TensorSpec("y", ("rows", "cols")),),
    work=WorkFormula(flop_count="rows*cols", read_bytes="rows*cols*s", write_bytes="rows*cols*s"),
    # float32: the sum carried from tile to tile is rounded t times, and off by about sqrt(t/2) 2^-25 of its
    # usual size: 8e-6 at 2^17 tiles of 1024, and in a thread that adds 4e5 columns one by one. The 16-bit
    # types are summed in float32: the rounding of each sum is what remains.
    tolerance=Tolerance(float32=2e-5, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", {"rows": 4096, "cols": 1024}),
        Preset("medium", {"rows": 8192, "cols": 2048}),
        Preset("large", {"rows": 32768, "cols": 4096}),
    ),
    odd_sizes=(
        *ODD_ROWS,
        EMPTY_ROWS,
        {"rows": 3, "cols": 17001},
        {"rows": 1, "cols": 400037},
        {"rows": 1027, "cols": 9001},
        {"rows": 4101, "cols": 33},  # many short rows
    ),
    large_magnitude=10.0,  # sums of 400 thousand elements of up to 10 stay within float16's 65504
    # Ever more rows; then as many elements in 64 rows, and in one.
    sweep=(
        *({"rows": rows, "cols": 4096} for rows in (16, 64, 256, 1024, 4096, 16384)),
        {"rows": 64, "cols": 2**20},
        {"rows": 1, "cols": 2**26},
    ),
)
