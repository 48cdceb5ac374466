"""C = relu(A B): a matrix product with the least that may follow one.

FLOPs are those of the product. The m n maxima are left out: other units do them.
"""

from profiling.spec import Axis, Dtype, KernelSpec, Pipe, TensorSpec, Tolerance, WorkFormula
from profiling.usual_sizes import ODD_PRODUCTS, PRODUCTS, cube

SPEC = KernelSpec(
    name="matmul_relu",
    title="Matrix multiplication, then ReLU",
    formula="C[i, j] = max(sum over l of A[i, l] B[l, j], 0)",
    axes=(
        Axis("m", "rows of A and of C"),
        Axis("n", "columns of B and of C"),
        Axis("k", "columns of A, rows of B: the length of each sum"),
    ),
    inputs=(TensorSpec("a", ("m", "k")), TensorSpec("b", ("k", "n"))),
    outputs=(TensorSpec("c", ("m", "n")),),
    work=WorkFormula(flop_count="2*m*n*k", read_bytes="(m*k + k*n)*s", write_bytes="m*n*s"),
    # Twice the unit roundoff (2^-11, 2^-8) of the one rounding of C; sums are kept in float32.
    tolerance=Tolerance(float32=5e-6, float16=1e-3, bfloat16=8e-3),
    presets=PRODUCTS,
    # Short sums, so that what follows the product counts; then cubes.
    sweep=(
        *({"m": size, "n": size, "k": 512} for size in (256, 512, 1024, 2048, 4096)),
        *(cube(size) for size in (2048, 4096, 8192)),
    ),
    odd_sizes=(
        *ODD_PRODUCTS,
        {"m": 136, "n": 264, "k": 72},  # 16-byte rows, but no full tile
        cube(1),
    ),
    # Sums of k products of up to 64 in size stay far below float16's 65504 at random signs.
    large_magnitude=8.0,
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
)
