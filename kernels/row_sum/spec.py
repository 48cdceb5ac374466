"""Sum of each row of a matrix in float32; the sum of everything is the case of one row.

Compulsory work of rows x cols: rows cols FLOP; the matrix is read once, a float32 a row is written.
"""

from roofscope import Axis, Element, Fill, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name="row_sum",
    title="Sum of rows",
    formula="y[r] = sum_c x[r, c]",
    axes=(Axis("rows", "rows of x; 1 sums everything"), Axis("cols", "columns of x")),
    # Of terms of either sign, a single sum may come out as near to zero as one likes, and no relative error
    # of it is bounded. Positive terms have no such sums, but ones past float16's range: hence float32 sums.
    inputs=(TensorSpec("x", ("rows", "cols"), fill=Fill.POSITIVE),),
    outputs=(TensorSpec("y", ("rows",), element=Element.FLOAT32),),
    work=WorkFormula(flop_count="rows*cols", read_bytes="rows*cols*s", write_bytes="rows*4"),
    # Two positive float32 add with an error of at most 2^-24 of their sum, random in sign. A chain of k
    # additions is off by about 2^-25 sqrt(k/3): 3e-6 for the longest in use, 2^15 terms a thread. What is
    # added later, in trees, adds next to nothing. The 16-bit types are exact in float32; their tolerance, of
    # half a rounding that does not happen, still finds a lost element in rows of up to 450 or 4000 columns.
    tolerance=Tolerance(float32=5e-6, float16=2.5e-4, bfloat16=2.2e-3),
    presets=(
        Preset("small", {"rows": 4096, "cols": 1024}),
        Preset("medium", {"rows": 8192, "cols": 4096}),
        Preset("large", {"rows": 65536, "cols": 4096}),
    ),
    # An odd number of columns puts every row at another alignment.
    odd_sizes=(
        {"rows": 37, "cols": 2063},
        {"rows": 129, "cols": 263},
        {"rows": 1, "cols": 4097},
        {"rows": 257, "cols": 1},
        {"rows": 0, "cols": 1024},
        {"rows": 3, "cols": 0},
        {"rows": 1, "cols": 1},
        {"rows": 5, "cols": 7},
        {"rows": 19, "cols": 4104},
        {"rows": 135, "cols": 4099},
        {"rows": 2, "cols": 98432},
        {"rows": 3, "cols": 70_001},
        {"rows": 2, "cols": 300_000},
        {"rows": 1, "cols": 1_000_003},
        {"rows": 4097, "cols": 1031},
        {"rows": 33_001, "cols": 35},  # many short rows
    ),
    large_magnitude=1.0,  # positive inputs are of one size
    # The sum of everything, from a single block's work to a gigabyte.
    sweep=tuple({"rows": 1, "cols": 4**power} for power in range(7, 15)),
)
