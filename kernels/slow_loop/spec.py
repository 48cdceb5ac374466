"""A Python loop that doubles a matrix row by row: the loop is the whole cost.

Compulsory work of rows x cols: rows cols FLOP, 2 rows cols elements moved. Written as one operator it is one
launch; as a loop it is two a row, and a GPU waits for Python.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name="slow_loop",
    title="Slow loop over rows",
    formula="y[r, c] = 2 x[r, c]",
    axes=(Axis("rows", "rows of x, one turn of the loop each"), Axis("cols", "columns of x")),
    inputs=(TensorSpec("x", ("rows", "cols")),),
    outputs=(TensorSpec("y", ("rows", "cols")),),
    work=WorkFormula(flop_count="rows*cols", read_bytes="rows*cols*s", write_bytes="rows*cols*s"),
    # Doubling rounds nothing; what is allowed is less than one rounding.
    tolerance=Tolerance(float32=4e-8, float16=3e-4, bfloat16=2.2e-3),
    presets=(
        Preset("small", {"rows": 100, "cols": 1024}),
        Preset("medium", {"rows": 100, "cols": 65536}),
        Preset("large", {"rows": 100, "cols": 2**20}),
    ),
    odd_sizes=(
        {"rows": 37, "cols": 1031},
        {"rows": 1, "cols": 4097},
        {"rows": 257, "cols": 1},
        {"rows": 0, "cols": 64},
        {"rows": 3, "cols": 0},
        {"rows": 5, "cols": 7},
        {"rows": 2, "cols": 98432},
    ),
    sweep=tuple({"rows": 100, "cols": 2**power} for power in range(6, 21, 2)),
    large_magnitude=1e4,  # twice as much is within float16
    compares_modes=True,
)
