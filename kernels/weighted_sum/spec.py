"""Weighted sum of each row of a matrix, the product of a matrix and a vector: one long read.

Compulsory work of rows x cols: 2 rows cols FLOP (an FMA an element); the matrix and the weights are read
once, one sum a row is written.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import EMPTY_ROWS, ODD_ROWS

SPEC = KernelSpec(
    name="weighted_sum",
    title="Weighted sum of rows",
    formula="y[r] = sum_d x[r, d] w[d]",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x, elements of w")),
    inputs=(TensorSpec("x", ("rows", "cols")), TensorSpec("w", ("cols",))),
    outputs=(TensorSpec("y", ("rows",)),),
    work=WorkFormula(flop_count="2*rows*cols", read_bytes="(rows*cols + cols)*s", write_bytes="rows*s"),
    # float32: a sum of d terms of either sign, taken one by one, is off by about sqrt(d/2) 2^-25 of its usual
    # size: 7e-6 at 98432, and a single row may come out smaller than usual. The 16-bit types are summed in
    # float32: the rounding of the sum is what remains.
    tolerance=Tolerance(float32=2e-5, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", {"rows": 4096, "cols": 1024}),
        Preset("medium", {"rows": 8192, "cols": 2048}),
        Preset("large", {"rows": 100_000, "cols": 4096}),
    ),
    odd_sizes=(
        *ODD_ROWS,
        EMPTY_ROWS,
        {"rows": 70, "cols": 250},
        {"rows": 37, "cols": 2052},
        {"rows": 5, "cols": 40008},
        {"rows": 3, "cols": 70001},
        {"rows": 5, "cols": 140_008},
        {"rows": 7, "cols": 150_001},
    ),
    sweep=(
        {"rows": 64, "cols": 256},
        {"rows": 1024, "cols": 1024},
        {"rows": 4096, "cols": 1024},
        {"rows": 1024, "cols": 16384},
        {"rows": 8192, "cols": 4096},
        {"rows": 131072, "cols": 512},
        {"rows": 64, "cols": 2**21},
        {"rows": 100_000, "cols": 4096},
    ),
    large_magnitude=10.0,  # sums of 131072 products of up to 10 x 10 stay within float16's 65504
)
