"""Few rows times a matrix of 4-bit weights: a layer of a language model that writes its answer word by word.

The weights are packed as by quantize_int4, k = groups group in a row: byte j of a group holds weight j in its
low nibble and weight group/2 + j in its high nibble, each as its code + 8. The scales are of x's dtype.

Compulsory work: 2 m n k FLOP; half a byte a weight, a scale a group, x and y. At m = 1 reading the weights is
all there is to it, and a 16-bit weight takes four times as long.
"""

from roofscope import (
    Axis,
    Dtype,
    Element,
    Fill,
    KernelSpec,
    Pipe,
    Preset,
    TensorSpec,
    Tolerance,
    WorkFormula,
)


def _sizes(m: int, n: int, groups: int, group: int) -> dict[str, int]:
    return {"m": m, "n": n, "groups": groups, "group": group}


SPEC = KernelSpec(
    name="matmul_w4a16",
    title="16-bit rows times 4-bit weights",
    formula="y[i, j] = sum over l of x[i, l] (q[j, l] - 8) scale[j, l / group]",
    axes=(
        Axis("m", "rows of x and of y"),
        Axis("n", "rows of the weights, columns of y"),
        Axis("groups", "groups in a row of weights"),
        Axis("group", "weights of a group, an even number; 32 and 128 are usual", minimum=2),
    ),
    inputs=(
        TensorSpec("x", ("m", "groups*group")),
        TensorSpec(
            "packed", ("n", "groups", "group//2"), element=Element.UINT8, fill=Fill.INTEGER, below="256"
        ),
        TensorSpec("scale", ("n", "groups"), fill=Fill.POSITIVE),
    ),
    outputs=(TensorSpec("y", ("m", "n")),),
    work=WorkFormula(
        flop_count="2*m*n*groups*group",
        read_bytes="m*groups*group*s + n*groups*(group//2) + n*groups*s",
        write_bytes="m*n*s",
    ),
    # Twice the unit roundoff (2^-11, 2^-8), once for y and once for weights rounded to 16 bits after scaling,
    # as the eager version does, and ours where a group is shorter than 128 or k is short; and twice that, for
    # a single sum may come out smaller than usual. Sums are kept in float32.
    tolerance=Tolerance(float32=5e-6, float16=2e-3, bfloat16=1.6e-2),
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
    presets=(
        Preset("small", _sizes(1, 4096, 32, 128)),
        Preset("medium", _sizes(1, 8192, 64, 128)),
        Preset("large", _sizes(1, 28672, 64, 128)),
    ),
    odd_sizes=(
        _sizes(3, 131, 5, 32),
        _sizes(1, 65, 3, 128),
        _sizes(1, 17, 9, 64),
        _sizes(9, 48, 2, 256),
        _sizes(17, 80, 7, 128),
        _sizes(33, 33, 3, 32),
        _sizes(64, 96, 5, 128),
        _sizes(70, 40, 3, 128),
        _sizes(70, 301, 5, 32),  # for large tiles, as is the next
        _sizes(5, 1031, 3, 64),
        _sizes(2, 50, 3, 48),
        _sizes(5, 7, 3, 10),
        _sizes(1, 37, 1, 32),  # not a single sum: what is left of one may be rounding alone
        _sizes(0, 64, 2, 32),
        _sizes(4, 0, 2, 32),
        _sizes(3, 24, 0, 128),  # an empty sum is 0
    ),
    # Sums of k products of up to 8 x 12 in size stay far below float16's 65504 at random signs.
    large_magnitude=8.0,
    pipe=Pipe.TENSOR,
    sweep=(
        _sizes(1, 1024, 8, 128),
        _sizes(1, 4096, 32, 128),
        _sizes(1, 8192, 64, 128),
        _sizes(1, 28672, 64, 128),
        _sizes(8, 8192, 64, 128),
        _sizes(16, 8192, 64, 128),
        _sizes(32, 8192, 64, 128),
        _sizes(64, 8192, 64, 128),
    ),
)
