"""Attention: for each query a mean of the values, weighted by the softmax of its products with the keys.

Compulsory work: the two products, Q K^T and P V, of 2 seq seq dim FLOP a head each; the softmax between them
is left out by custom, though it is what makes the tensor cores wait. q, k and v are read once, o is written
once: the seq x seq weights never need to leave the chip.
"""

from roofscope import Axis, Dtype, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula

HEADS = ("batch", "heads", "seq", "dim")


def sizes(batch: int, heads: int, seq: int, dim: int) -> dict[str, int]:
    return {"batch": batch, "heads": heads, "seq": seq, "dim": dim}


SPEC = KernelSpec(
    name="attention",
    title="Attention",
    formula="o = softmax(q k^T / sqrt(dim)) v",
    axes=(
        Axis("batch", "sequences"),
        Axis("heads", "heads of a sequence"),
        Axis("seq", "queries, and as many keys and values"),
        Axis("dim", "elements of a head: 64, 96, 128, 192 or 256, others for eager only", minimum=1),
    ),
    inputs=tuple(TensorSpec(name, HEADS) for name in "qkv"),
    outputs=(TensorSpec("o", HEADS),),
    work=WorkFormula(
        flop_count="4*batch*heads*seq*seq*dim",
        read_bytes="3*batch*heads*seq*dim*s",
        write_bytes="batch*heads*seq*dim*s",
    ),
    # Two roundings to 16 bits, of the weights and of o, each of at most half a unit in the last place (2^-11,
    # 2^-8) and less than half of that on average. Sums and exponents are kept in float32.
    tolerance=Tolerance(float32=1e-5, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", sizes(1, 8, 512, 64)),
        Preset("medium", sizes(2, 16, 2048, 64)),
        Preset("large", sizes(4, 16, 8192, 128)),
    ),
    odd_sizes=(
        sizes(1, 3, 257, 64),  # one past two blocks
        sizes(2, 1, 131, 128),
        sizes(1, 2, 128, 128),
        sizes(3, 1, 1, 64),
        sizes(1, 2, 63, 64),
        sizes(1, 1, 1000, 128),
        sizes(1, 2, 131, 96),
        sizes(2, 1, 300, 192),
        sizes(1, 2, 257, 256),
        sizes(0, 4, 64, 64),
        sizes(1, 2, 0, 128),
    ),
    # Scaled products of up to 64 sqrt(dim): their exponentials overflow unless the maximum comes off first.
    large_magnitude=8.0,
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
    sweep=tuple(sizes(4, 16, seq, 128) for seq in (128, 256, 512, 1024, 2048, 4096, 8192, 16384)),
)
