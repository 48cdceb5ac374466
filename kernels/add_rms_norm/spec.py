"""A residual addition and the RMS norm of its rows, as between the layers of a language model.

Compulsory work of rows x cols: 5 rows cols FLOP (sum, square and sum as an FMA, scaling, weight); x and the
residual are read once, the norm and the sum are written once, the scales are read once.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import EMPTY_ROWS, ODD_ROWS, ROW_SWEEP

SPEC = KernelSpec(
    name="add_rms_norm",
    title="Residual addition and RMS norm",
    formula="h = x + residual; y[r, c] = h[r, c] / sqrt(mean_c h[r, c]^2 + 1e-6) w[c]",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x, normalised together")),
    inputs=(
        TensorSpec("x", ("rows", "cols")),
        TensorSpec("residual", ("rows", "cols")),
        TensorSpec("w", ("cols",)),
    ),
    outputs=(TensorSpec("y", ("rows", "cols")), TensorSpec("h", ("rows", "cols"))),
    work=WorkFormula(
        flop_count="5*rows*cols", read_bytes="(2*rows*cols + cols)*s", write_bytes="2*rows*cols*s"
    ),
    # float32: a sum of up to 2^17 positive terms and a hardware square root of 2^-22. The 16-bit types: h is
    # rounded before it is normalised, then y: two roundings.
    tolerance=Tolerance(float32=5e-6, float16=2e-3, bfloat16=1.2e-2),
    presets=(
        Preset("small", {"rows": 4096, "cols": 1024}),
        Preset("medium", {"rows": 2048, "cols": 4096}),
        Preset("large", {"rows": 32768, "cols": 4096}),
    ),
    odd_sizes=(
        *ODD_ROWS,
        EMPTY_ROWS,
        {"rows": 3, "cols": 17001},
        {"rows": 133, "cols": 264},  # whole 16 bytes: short rows, few and many
        {"rows": 4101, "cols": 200},
        {"rows": 133, "cols": 263},
        {"rows": 3, "cols": 70001},  # which several blocks share, each row at another alignment
    ),
    large_magnitude=1e4,
    sweep=ROW_SWEEP,
)
