"""The products of a mixture of experts: each token's row times the matrix of the expert that it was sent to.

Tokens come sorted by expert, so that an expert's are a run of rows; `offsets` has the first row of each run
and, at its end, the number of tokens. Runs have any length, from none to twice the mean, and begin anywhere:
a tile of rows that a run cuts is the difficulty, as is the expert that got few tokens and yet needs its whole
matrix read.

Compulsory work: 2 tokens n k FLOP; tokens and all matrices are read once, which counts those of experts
without a token too. `offsets` never falls.
"""

from roofscope import Axis, Dtype, Element, Fill, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula


def sizes(tokens: int, experts: int, n: int, k: int) -> dict[str, int]:
    return {"tokens": tokens, "experts": experts, "n": n, "k": k}


SPEC = KernelSpec(
    name="grouped_matmul",
    title="Grouped matrix multiplication",
    formula="C[t, j] = sum over l of X[t, l] W[e, j, l], e the expert of token t",
    axes=(
        Axis("tokens", "rows of X and of C, sorted by expert"),
        Axis("experts", "matrices, each for its run of rows", minimum=1),
        Axis("n", "rows of each matrix, columns of C"),
        Axis("k", "columns of X and of the matrices: the length of each sum"),
    ),
    inputs=(
        TensorSpec("x", ("tokens", "k")),
        TensorSpec("w", ("experts", "n", "k")),  # as torch.nn.Linear keeps its weight
        TensorSpec("offsets", ("experts + 1",), Element.INT32, Fill.DERIVED),
    ),
    outputs=(TensorSpec("c", ("tokens", "n")),),
    work=WorkFormula(
        flop_count="2*tokens*n*k",
        read_bytes="(tokens*k + experts*n*k)*s + 4*experts + 4",
        write_bytes="tokens*n*s",
    ),
    # Twice the unit roundoff (2^-8) of the one rounding of C, as in matmul.
    tolerance=Tolerance(float32=5e-6, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", sizes(1024, 8, 512, 256)),
        Preset("medium", sizes(4096, 16, 1024, 1024)),
        Preset("large", sizes(32768, 64, 3072, 2048)),
    ),
    odd_sizes=(
        sizes(301, 5, 257, 65),  # rows of no input on 16 bytes, runs that end anywhere
        sizes(130, 3, 264, 136),
        sizes(1, 4, 40, 72),  # all experts but one have no token
        sizes(700, 1, 33, 1),
        sizes(513, 7, 1, 160),
        sizes(0, 3, 64, 64),
        sizes(40, 2, 24, 0),  # an empty sum is 0
    ),
    large_magnitude=64.0,
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.BFLOAT16,),
    on_request=("cuda_naive",),  # a call takes as long as all others of a run
    # From a few tokens an expert, bound by its matrix, to many.
    sweep=(
        *(sizes(tokens, 64, 3072, 2048) for tokens in (64, 512, 2048, 8192, 32768)),
        sizes(32768, 8, 4096, 4096),
        sizes(32768, 128, 1536, 2048),
        sizes(65536, 64, 3072, 2048),
    ),
)
