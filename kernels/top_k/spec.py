"""The 64 largest elements of each row and where they are: what sampling from a vocabulary begins with.

Compulsory work of rows x cols: rows cols FLOP (a comparison each); x is read once, 64 values and indices a
row are written. The order is that of a stable sort: largest first, and of equal elements the one that comes
first in the row, which in 16 bits are many. NaN counts as larger than any number, as in torch.
"""

from roofscope import Axis, Element, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name="top_k",
    title="Largest 64 of rows",
    formula="value[r, i] = x[r, index[r, i]], the i-th of row r in descending order, equal ones by index",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x", minimum=64)),
    inputs=(TensorSpec("x", ("rows", "cols")),),
    outputs=(
        TensorSpec("value", ("rows", "64")),
        TensorSpec("index", ("rows", "64"), element=Element.INT64),
    ),
    work=WorkFormula(flop_count="rows*cols", read_bytes="rows*cols*s", write_bytes="rows*64*(s + 8)"),
    # Nothing is rounded: the error is 0, or an element is wrong. Two indices of 2^18 swapped with their
    # neighbours, in a thousand rows, are 1e-8.
    tolerance=Tolerance(float32=1e-9, float16=1e-9, bfloat16=1e-9),
    presets=(
        Preset("small", {"rows": 64, "cols": 32768}),
        Preset("medium", {"rows": 256, "cols": 65536}),
        Preset("large", {"rows": 1024, "cols": 131072}),
    ),
    # An odd number of columns puts every row at another alignment.
    odd_sizes=(
        {"rows": 37, "cols": 1031},
        {"rows": 1, "cols": 4097},
        {"rows": 257, "cols": 64},
        {"rows": 0, "cols": 1024},
        {"rows": 1, "cols": 64},
        {"rows": 5, "cols": 71},
        {"rows": 19, "cols": 4104},
        {"rows": 2, "cols": 98432},
        {"rows": 3, "cols": 17001},
        {"rows": 1, "cols": 262147},
    ),
    large_magnitude=1e4,
    # Few rows, where a row is spread over the GPU, then many.
    sweep=(
        {"rows": 1, "cols": 262144},
        *({"rows": rows, "cols": 131072} for rows in (4, 16, 64, 256, 1024)),
        {"rows": 4096, "cols": 32768},
        {"rows": 1024, "cols": 262144},
    ),
)
