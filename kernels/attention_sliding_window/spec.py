"""Causal attention in which a query sees its last 1024 keys: layers of Gemma 3 and others, most of a model's.

Of a group of query heads one head has the keys and values, as in ``attention_causal_gqa``. FLOPs are those of
the pairs that are seen: 1024 a query, fewer for the first 1023. A sequence is no shorter than the window, or
``attention_causal_gqa`` is the task. The window is a number of the spec, as one of a model; launchers in
``shared`` take any.
"""

from roofscope import Axis, Dtype, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula

WINDOW = 1024  # keys that a query sees, its own among them
QUERIES = ("batch", "kv_heads*group", "seq", "dim")
KEYS = ("batch", "kv_heads", "seq", "dim")


def sizes(batch: int, kv_heads: int, group: int, seq: int, dim: int) -> dict[str, int]:
    return {"batch": batch, "kv_heads": kv_heads, "group": group, "seq": seq, "dim": dim}


SPEC = KernelSpec(
    name="attention_sliding_window",
    title="Sliding-window attention",
    formula="o[h, i] = softmax over i-1024 < j <= i of (q[h, i] k[h / group, j] / sqrt(dim)) v[h / group, j]",
    axes=(
        Axis("batch", "sequences"),
        Axis("kv_heads", "heads of keys and values"),
        Axis("group", "query heads that share one of them"),
        Axis("seq", "queries, and as many keys and values", minimum=WINDOW),
        Axis("dim", "elements of a head: 64, 96, 128, 192 or 256, others for eager only", minimum=1),
    ),
    inputs=(TensorSpec("q", QUERIES), TensorSpec("k", KEYS), TensorSpec("v", KEYS)),
    outputs=(TensorSpec("o", QUERIES),),
    work=WorkFormula(
        # 4 dim of each pair, of which a head has 1024 seq - 1024 * 1023 / 2.
        flop_count="2048*batch*kv_heads*group*(2*seq - 1023)*dim",
        read_bytes="batch*kv_heads*(group + 2)*seq*dim*s",
        write_bytes="batch*kv_heads*group*seq*dim*s",
    ),
    tolerance=Tolerance(float32=1e-5, float16=1e-3, bfloat16=8e-3),  # as attention's
    presets=(
        Preset("small", sizes(1, 2, 4, 2048, 64)),
        Preset("medium", sizes(1, 2, 2, 8192, 256)),
        Preset("large", sizes(2, 8, 8, 8192, 128)),
    ),
    odd_sizes=(
        sizes(1, 1, 1, 1091, 64),
        sizes(1, 2, 3, 1024, 64),
        sizes(2, 1, 5, 1155, 128),
        sizes(1, 2, 2, 1025, 96),
        sizes(1, 1, 3, 2111, 192),
        sizes(1, 1, 2, 3000, 256),
        sizes(1, 2, 1, 4097, 64),
        sizes(0, 4, 2, 1024, 64),
        sizes(2, 0, 4, 1100, 128),
    ),
    large_magnitude=8.0,  # as attention's
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
    on_request=("cuda_naive",),  # no tiles: a call takes as long as many of the others
    sweep=(
        *(sizes(2, 8, 8, seq, 128) for seq in (1024, 2048, 4096, 8192, 16384, 32768)),
        sizes(1, 8, 8, 32768, 64),
        sizes(1, 8, 2, 32768, 256),
    ),
)
