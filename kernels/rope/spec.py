"""Rotary position embedding, rotate-half form: elements half a head apart are turned as a pair.

Compulsory work: 3 FLOP an element (two products and a sum), 2 batch heads seq 2 half elements of x and y
moved, and the tables of 2 seq half. The tables hold one angle a pair, (seq, half), in the dtype of x.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name="rope",
    title="Rotary embedding",
    formula="y[i] = x[i] cos[i] - x[i + half] sin[i], y[i + half] = x[i + half] cos[i] + x[i] sin[i]",
    axes=(
        Axis("batch", "sequences"),
        Axis("heads", "heads of a sequence"),
        Axis("seq", "positions of a sequence"),
        Axis("half", "pairs of a head, half its dimension"),
    ),
    inputs=(
        TensorSpec("x", ("batch", "heads", "seq", "2*half")),
        TensorSpec("cos", ("seq", "half")),
        TensorSpec("sin", ("seq", "half")),
    ),
    outputs=(TensorSpec("y", ("batch", "heads", "seq", "2*half")),),
    work=WorkFormula(
        flop_count="6*batch*heads*seq*half",
        read_bytes="(2*batch*heads*seq*half + 2*seq*half)*s",
        write_bytes="2*batch*heads*seq*half*s",
    ),
    # float32: three roundings. The 16-bit types: eager rounds both products and their sum, our own versions
    # the sum alone.
    tolerance=Tolerance(float32=1e-6, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", {"batch": 1, "heads": 8, "seq": 1024, "half": 64}),
        Preset("medium", {"batch": 1, "heads": 32, "seq": 4096, "half": 64}),
        Preset("large", {"batch": 4, "heads": 32, "seq": 4096, "half": 64}),
    ),
    sweep=tuple(
        {"batch": 1, "heads": 32, "seq": seq, "half": 64}
        for seq in (4, 16, 64, 256, 1024, 4096, 16384, 65536)
    ),
    # Halves of no whole 16 bytes, then whole ones but no power of two; heads in no groups of four. The last
    # ends in a tile of 4 positions of 32, of which a compiler once made wrong addresses.
    odd_sizes=(
        {"batch": 3, "heads": 5, "seq": 37, "half": 33},
        {"batch": 1, "heads": 6, "seq": 67, "half": 48},
        {"batch": 2, "heads": 2, "seq": 129, "half": 64},
        {"batch": 0, "heads": 8, "seq": 16, "half": 64},
        {"batch": 1, "heads": 8, "seq": 0, "half": 64},
        {"batch": 2, "heads": 3, "seq": 5, "half": 0},
        {"batch": 1, "heads": 1, "seq": 1, "half": 1},
        {"batch": 2, "heads": 1, "seq": 3, "half": 2056},
        {"batch": 1, "heads": 3, "seq": 4099, "half": 8},
        {"batch": 1, "heads": 1, "seq": 51236, "half": 21},
    ),
    large_magnitude=100.0,  # sums of two products of up to 100 x 100 stay within float16's 65504
)
