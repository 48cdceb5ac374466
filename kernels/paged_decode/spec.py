"""Decoding with a paged cache: one query token a sequence attends to all keys that its pages hold.

What a server of language models does for every token: the heads of a query come in groups that share a head
of keys and values, which lie in pages of a pool, wherever there was room; a table names the pages of a
sequence in order, and a length says how many keys of them count.

Compulsory work: the products q K^T and P V, of 2 FLOP an element of the cache and query head each; keys,
values, queries, table and lengths are read once. It is counted in whole pages. The first sequence ends with
the first key of its last page, the others fill theirs: of 32 sequences of 4096 keys 0.01 % are counted too
much. A length beyond a row of the table stands for all of it; a sequence of no keys, which is never drawn,
has output 0 of our versions.
"""

from roofscope import Axis, Dtype, Element, Fill, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula

CACHE = ("batch*pages", "page", "kv_heads", "dim")
QUERIES = ("batch", "kv_heads*group", "dim")
KEYS = "batch*pages*page*kv_heads*dim"


def sizes(batch: int, kv_heads: int, group: int, pages: int, page: int, dim: int) -> dict[str, int]:
    return {
        "batch": batch,
        "kv_heads": kv_heads,
        "group": group,
        "pages": pages,
        "page": page,
        "dim": dim,
    }


SPEC = KernelSpec(
    name="paged_decode",
    title="Decoding with a paged cache",
    formula="o[b, h] = softmax(q[b, h] k[pages of b, h / group]^T / sqrt(dim)) v[pages of b, h / group]",
    axes=(
        Axis("batch", "sequences"),
        Axis("kv_heads", "heads of keys and values"),
        Axis("group", "query heads that share one of them"),
        Axis("pages", "pages of a sequence", minimum=1),
        Axis("page", "keys of a page", minimum=1),
        Axis("dim", "elements of a head: 64 or 128 for the fast versions", minimum=1),
    ),
    inputs=(
        TensorSpec("q", QUERIES),
        TensorSpec("k", CACHE),
        TensorSpec("v", CACHE),
        TensorSpec("table", ("batch", "pages"), Element.INT32, Fill.DERIVED),
        TensorSpec("lengths", ("batch",), Element.INT32, Fill.DERIVED),
    ),
    outputs=(TensorSpec("o", QUERIES),),
    work=WorkFormula(
        flop_count=f"4*group*{KEYS}",
        read_bytes=f"2*{KEYS}*s + batch*kv_heads*group*dim*s + 4*batch*pages + 4*batch",
        write_bytes="batch*kv_heads*group*dim*s",
    ),
    # As attention: two roundings to 16 bits, of the weights and of o. Sums and exponents are float32.
    tolerance=Tolerance(float32=1e-5, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", sizes(4, 8, 4, 32, 16, 128)),
        Preset("medium", sizes(8, 8, 4, 192, 16, 128)),
        Preset("large", sizes(32, 8, 8, 256, 16, 128)),
    ),
    odd_sizes=(
        sizes(3, 2, 4, 7, 16, 128),
        sizes(2, 3, 7, 5, 13, 64),  # keys of a tile lie in several pages, and no page is a power of two
        sizes(1, 1, 8, 67, 16, 128),  # long enough to be split
        sizes(2, 2, 1, 3, 64, 64),
        sizes(1, 2, 17, 2, 33, 128),  # more query heads than a tile has columns
        sizes(5, 1, 3, 1, 1, 64),
        sizes(1, 1, 9, 300, 1, 128),
        sizes(0, 2, 4, 2, 16, 64),
        sizes(2, 0, 4, 2, 16, 64),
    ),
    large_magnitude=8.0,  # as attention's
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
    # From a short chat of one user to many long ones; the last is one very long document.
    sweep=(
        sizes(1, 8, 8, 16, 16, 128),
        sizes(1, 8, 8, 256, 16, 128),
        sizes(4, 8, 8, 256, 16, 128),
        sizes(16, 8, 4, 128, 16, 128),
        sizes(32, 8, 8, 256, 16, 128),
        sizes(64, 8, 4, 256, 16, 128),
        sizes(64, 8, 8, 128, 64, 128),
        sizes(1, 8, 8, 2048, 64, 128),
    ),
)
