"""Causal attention in which a group of query heads shares one head of keys and values, as models have it now.

FLOPs are those of ``attention_causal`` at as many query heads; keys and values are fewer, and so is the cache
that ``paged_decode`` reads. Query heads of a group lie next to each other.
"""

from roofscope import Axis, Dtype, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula

QUERIES = ("batch", "kv_heads*group", "seq", "dim")
KEYS = ("batch", "kv_heads", "seq", "dim")


def sizes(batch: int, kv_heads: int, group: int, seq: int, dim: int) -> dict[str, int]:
    return {"batch": batch, "kv_heads": kv_heads, "group": group, "seq": seq, "dim": dim}


SPEC = KernelSpec(
    name="attention_causal_gqa",
    title="Causal attention, grouped queries",
    formula="o[h, i] = softmax over j <= i of (q[h, i] k[h / group, j] / sqrt(dim)), times v[h / group, j]",
    axes=(
        Axis("batch", "sequences"),
        Axis("kv_heads", "heads of keys and values"),
        Axis("group", "query heads that share one of them"),
        Axis("seq", "queries, and as many keys and values"),
        Axis("dim", "elements of a head: 64, 96, 128, 192 or 256, others for eager only", minimum=1),
    ),
    inputs=(TensorSpec("q", QUERIES), TensorSpec("k", KEYS), TensorSpec("v", KEYS)),
    outputs=(TensorSpec("o", QUERIES),),
    work=WorkFormula(
        flop_count="2*batch*kv_heads*group*seq*(seq + 1)*dim",
        read_bytes="batch*kv_heads*(group + 2)*seq*dim*s",
        write_bytes="batch*kv_heads*group*seq*dim*s",
    ),
    tolerance=Tolerance(float32=1e-5, float16=1e-3, bfloat16=8e-3),  # as attention's
    presets=(
        Preset("small", sizes(1, 2, 4, 512, 64)),
        Preset("medium", sizes(2, 4, 4, 2048, 64)),
        Preset("large", sizes(2, 8, 8, 8192, 128)),
    ),
    odd_sizes=(
        sizes(1, 2, 3, 257, 64),  # one past two blocks
        sizes(2, 1, 5, 131, 128),
        sizes(1, 2, 1, 128, 128),
        sizes(3, 1, 2, 1, 64),
        sizes(1, 1, 8, 1000, 128),
        sizes(2, 3, 2, 63, 64),
        sizes(1, 2, 2, 131, 96),
        sizes(1, 1, 3, 300, 192),
        sizes(1, 2, 2, 257, 256),
        sizes(0, 4, 2, 64, 64),
        sizes(1, 2, 2, 0, 128),
    ),
    large_magnitude=8.0,  # as attention's
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
    sweep=tuple(sizes(2, 8, 8, seq, 128) for seq in (128, 256, 512, 1024, 2048, 4096, 8192, 16384)),
)
