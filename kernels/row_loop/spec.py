"""A Python loop over the rows of a matrix: each row centred and scaled by itself.

Compulsory work of rows x cols: 5 rows cols FLOP (sum, difference, square and its sum as an FMA, scaling), 2
rows cols elements moved. The loop is the point: whatever compiles its body, it launches kernels row by row,
and a GPU waits.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula


def _matrix(rows: int, cols: int) -> dict[str, int]:
    return {"rows": rows, "cols": cols}


SPEC = KernelSpec(
    name="row_loop",
    title="Python loop over rows",
    formula="y[r, c] = (x[r, c] - m_r) / sqrt(v_r + 1e-5), m_r and v_r mean and variance of row r",
    axes=(Axis("rows", "rows of x, one turn of the loop each"), Axis("cols", "columns of x")),
    inputs=(TensorSpec("x", ("rows", "cols")),),
    outputs=(TensorSpec("y", ("rows", "cols")),),
    work=WorkFormula(flop_count="5*rows*cols", read_bytes="rows*cols*s", write_bytes="rows*cols*s"),
    # float32: sums of many terms; the 16-bit types: eager rounds each operator's result, and the rounding of
    # the mean counts where elements are few.
    tolerance=Tolerance(float32=5e-6, float16=3e-3, bfloat16=2.4e-2),
    presets=(
        Preset("small", _matrix(64, 8192)),
        Preset("medium", _matrix(64, 16384)),
        Preset("large", _matrix(64, 65536)),
    ),
    odd_sizes=(
        _matrix(37, 1031),
        _matrix(1, 4097),
        _matrix(257, 1),
        _matrix(0, 64),
        _matrix(3, 0),
        _matrix(5, 7),
        _matrix(3, 17001),
        _matrix(2, 98432),
    ),
    large_magnitude=60.0,  # its square is within float16
    sweep=(
        *(_matrix(rows, 8192) for rows in (1, 4, 16, 64, 256)),
        *(_matrix(1024, cols) for cols in (8192, 32768, 65536)),
    ),
    compares_modes=True,
)
