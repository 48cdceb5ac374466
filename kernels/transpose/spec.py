"""Transpose of a matrix: no arithmetic, but what is adjacent on one side is far apart on the other.

Compulsory work of rows x cols: no FLOP, 2 rows cols elements moved.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name="transpose",
    title="Transpose",
    formula="y[c, r] = x[r, c]",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x")),
    inputs=(TensorSpec("x", ("rows", "cols")),),
    outputs=(TensorSpec("y", ("cols", "rows")),),
    work=WorkFormula(flop_count="0", read_bytes="rows*cols*s", write_bytes="rows*cols*s"),
    # Nothing is rounded. Less than half a unit in the last place, so that one rounding too many is found.
    tolerance=Tolerance(float32=5e-8, float16=4e-4, bfloat16=3e-3),
    presets=(
        Preset("small", {"rows": 1024, "cols": 1024}),
        Preset("medium", {"rows": 4096, "cols": 4096}),
        # Rows a power of two apart, the hardest on caches and memory channels.
        Preset("large", {"rows": 8192, "cols": 8192}),
    ),
    sweep=tuple({"rows": side, "cols": side} for side in (128, 256, 512, 1024, 2048, 4096, 8192, 16384)),
    # Odd sizes put every row at another alignment; then whole packs but no whole tiles.
    odd_sizes=(
        {"rows": 37, "cols": 1031},
        {"rows": 1, "cols": 4097},
        {"rows": 257, "cols": 1},
        {"rows": 0, "cols": 1024},
        {"rows": 3, "cols": 0},
        {"rows": 1, "cols": 1},
        {"rows": 5, "cols": 7},
        {"rows": 72, "cols": 328},
        {"rows": 3, "cols": 98432},
        {"rows": 4097, "cols": 1031},
        {"rows": 4099, "cols": 5},
        {"rows": 2100, "cols": 1155},
        {"rows": 13, "cols": 40001},
        {"rows": 40001, "cols": 13},
        {"rows": 67, "cols": 17001},
    ),
    large_magnitude=1e4,
)
