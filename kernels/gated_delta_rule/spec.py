"""The gated delta rule (Gated DeltaNet): linear attention whose state forgets, and corrects itself.

A head keeps a matrix S of dim x dim. At each token what is left of it is S exp(g). What that answers to the
key is compared with the value, and beta of the difference is written to the key; the query then reads S. Keys
and queries are made unit vectors first, as models have it. ``groups`` heads of values share a head of queries
and keys. Compulsory work is that of the chunked form in chunks of 64 tokens, which matrix units can do: K K^T
and Q K^T once a head of keys, and for each head of values K S, Q S, the new S, and two products with 64 x 64
matrices. The triangular system is left out by custom. Token by token it is 6 dim dim FLOP, a third less.
"""

from roofscope import Axis, Dtype, Element, Fill, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula

KEYS = ("batch", "seq", "heads", "dim")
VALUES = ("batch", "seq", "heads*groups", "dim")


def sizes(batch: int, seq: int, heads: int, groups: int, dim: int) -> dict[str, int]:
    return {"batch": batch, "seq": seq, "heads": heads, "groups": groups, "dim": dim}


SPEC = KernelSpec(
    name="gated_delta_rule",
    title="Gated delta rule",
    formula="u_t = beta_t (v_t - exp(g_t) S^T k_t), S = exp(g_t) S + k_t u_t^T, o_t = S^T q_t / sqrt(dim), "
    "k_t and q_t of length 1",
    axes=(
        Axis("batch", "sequences"),
        Axis("seq", "tokens of a sequence"),
        Axis("heads", "heads of queries and keys", minimum=1),
        Axis("groups", "heads of values for each of them", minimum=1),
        Axis("dim", "elements of a head: 64 or 128, others for eager only", minimum=1),
    ),
    inputs=(
        TensorSpec("q", KEYS),
        TensorSpec("k", KEYS),
        TensorSpec("v", VALUES),
        # The logarithm of what is left of the state at a token, at most 0, and the part that is written.
        TensorSpec("g", VALUES[:3], element=Element.FLOAT32, fill=Fill.DERIVED),
        TensorSpec("beta", VALUES[:3], element=Element.FLOAT32, fill=Fill.DERIVED),
    ),
    outputs=(TensorSpec("o", VALUES),),
    work=WorkFormula(
        flop_count="batch*((seq + 63)//64)*heads*64*dim*(4*64 + groups*(6*dim + 4*64))",
        read_bytes="batch*seq*heads*((2 + groups)*dim*s + 8*groups)",
        write_bytes="batch*seq*heads*groups*dim*s",
    ),
    # 16 bits: the state, what is written to it and both 64 x 64 matrices are rounded as operands of products,
    # a rounding each beside that of o, and v less the state's answer cancels digits.
    tolerance=Tolerance(float32=1e-5, float16=2e-3, bfloat16=1.6e-2),
    presets=(
        Preset("small", sizes(1, 512, 2, 2, 64)),
        Preset("medium", sizes(1, 8192, 2, 4, 128)),
        Preset("large", sizes(1, 65536, 2, 4, 128)),
    ),
    odd_sizes=(
        sizes(2, 197, 1, 3, 64),  # three chunks and 5 tokens
        sizes(1, 129, 2, 1, 128),
        sizes(1, 64, 1, 2, 128),
        sizes(3, 1, 1, 1, 64),
        sizes(1, 63, 3, 2, 64),
        sizes(1, 777, 1, 2, 64),
        sizes(1, 1091, 1, 2, 128),  # two segments
        sizes(0, 64, 1, 1, 64),
        sizes(2, 0, 1, 2, 128),
    ),
    large_magnitude=8.0,  # the gates follow from v, and go to their ends
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
    on_request=("cuda_naive",),  # a token after the other
    sweep=tuple(sizes(1, seq, 2, 4, 128) for seq in (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)),
)
