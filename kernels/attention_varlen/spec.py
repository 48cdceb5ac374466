"""Causal attention over sequences of several lengths, packed one behind the other: training and prefill.

A token's query sees the keys of its own sequence up to its own place. Sequence b has the rows from
``offsets[b]`` to ``offsets[b + 1]``, the latter not among them, so that no token is spent on padding. A tile
that a sequence's end cuts is the difficulty, as are sequences that take a thousand times as long as others.
Query heads of a group lie next to each other and share a head of keys and values.

Lengths are drawn by strata of a log-uniform distribution from ``shortest`` to 128 times that: of sixteen
sequences each has one of sixteen lengths, which lie evenly in the logarithm, and contents decide the order.
So a size has the same FLOPs in every draw, which its axes tell: those of the pairs that are seen. ``bound``
holds nothing: its first dimension is what callers of such functions know on the host, a length that no
sequence exceeds. Versions that launch by it need not wait for ``offsets`` to come from the GPU.

Offsets begin with 0, never fall and end with the number of tokens; a sequence may be empty, though none that
is drawn here is.
"""

from roofscope import Axis, Dtype, Element, Fill, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula

# Hundredths of the shortest length: 128 ** (i / 15), in an order whose first few are spread over all.
LENGTHS = (12800, 100, 1330, 365, 4850, 191, 2540, 696, 9263, 138, 1838, 504, 6703, 264, 3510, 962)
LONGEST = 128  # times the shortest

_STRATA = tuple(
    # How many of so many sequences have this length, and the length.
    (f"(batch + {len(LENGTHS) - 1 - place})//{len(LENGTHS)}", f"{length}*shortest//100")
    for place, length in enumerate(LENGTHS)
)
TOKENS = " + ".join(f"{count}*({length})" for count, length in _STRATA)
# 4 n (n + 1) is (2 n + 1)^2 - 1: each length stands once in the formula, which may be no longer.
_ODD_SQUARES = " + ".join(f"{count}*(2*({length}) + 1)**2" for count, length in _STRATA)

QUERIES = (TOKENS, "kv_heads*group", "dim")
KEYS = (TOKENS, "kv_heads", "dim")


def sizes(batch: int, shortest: int, kv_heads: int, group: int, dim: int) -> dict[str, int]:
    return {"batch": batch, "shortest": shortest, "kv_heads": kv_heads, "group": group, "dim": dim}


SPEC = KernelSpec(
    name="attention_varlen",
    title="Causal attention, packed sequences",
    formula="o[t, h] = softmax over t's sequence up to t of (q[t, h] k[u, h / group] / sqrt(dim)), times v",
    axes=(
        Axis("batch", "sequences"),
        Axis("shortest", "tokens of the shortest; the longest of sixteen has 128 times as many"),
        Axis("kv_heads", "heads of keys and values"),
        Axis("group", "query heads that share one of them"),
        Axis("dim", "elements of a head: 64 or 128 for the fast versions", minimum=1),
    ),
    inputs=(
        TensorSpec("q", QUERIES),
        TensorSpec("k", KEYS),
        TensorSpec("v", KEYS),
        TensorSpec("bound", (f"{LONGEST}*shortest", "0")),
        TensorSpec("offsets", ("batch + 1",), Element.INT32, Fill.DERIVED),
    ),
    outputs=(TensorSpec("o", QUERIES),),
    work=WorkFormula(
        flop_count=f"kv_heads*group*dim*(({_ODD_SQUARES}) - batch)//2",
        read_bytes=f"({TOKENS})*kv_heads*(group + 2)*dim*s + 4*batch + 4",
        write_bytes=f"({TOKENS})*kv_heads*group*dim*s",
    ),
    tolerance=Tolerance(float32=1e-5, float16=1e-3, bfloat16=8e-3),  # as attention's
    presets=(
        Preset("small", sizes(8, 4, 4, 1, 64)),
        Preset("medium", sizes(16, 16, 4, 1, 128)),
        Preset("large", sizes(32, 64, 16, 1, 128)),
    ),
    odd_sizes=(
        sizes(5, 3, 2, 1, 64),  # no length is one of whole tiles
        sizes(7, 2, 1, 3, 128),
        sizes(1, 1, 2, 1, 128),  # one tile, whole
        sizes(16, 1, 1, 2, 64),  # the shortest has one token
        sizes(2, 5, 2, 1, 128),
        sizes(0, 4, 2, 2, 64),
        sizes(3, 0, 2, 1, 128),
        sizes(3, 2, 0, 1, 64),
    ),
    large_magnitude=8.0,  # as attention's
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
    on_request=("cuda_naive",),  # a call takes as long as all others of a run
    # One long document, then batches of servers and of training, up to 64 sequences of 64 to 8192 tokens.
    sweep=(
        sizes(1, 128, 16, 1, 128),
        sizes(16, 4, 16, 1, 128),
        sizes(64, 4, 16, 1, 128),
        sizes(16, 64, 16, 1, 128),
        sizes(32, 64, 16, 1, 128),
        sizes(64, 64, 16, 1, 128),
        sizes(64, 64, 16, 1, 64),
        sizes(32, 64, 4, 8, 128),
    ),
)
