"""C = A B for row-major A (m x k) and B (k x n), accumulated in float32."""

from roofscope import Axis, KernelSpec, Multiply, Pipe, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import ODD_PRODUCTS, PRODUCT_SWEEP, PRODUCTS, cube

SPEC = KernelSpec(
    name="matmul",
    title="Matrix multiplication",
    formula="C[i, j] = sum over l of A[i, l] B[l, j]",
    axes=(
        Axis("m", "rows of A and of C"),
        Axis("n", "columns of B and of C"),
        Axis("k", "columns of A, rows of B: the length of each sum"),
    ),
    inputs=(TensorSpec("a", ("m", "k")), TensorSpec("b", ("k", "n"))),
    outputs=(TensorSpec("c", ("m", "n")),),
    work=WorkFormula(flop_count="2*m*n*k", read_bytes="(m*k + k*n)*s", write_bytes="m*n*s"),
    # 16 bits: twice the unit roundoff (2^-11, 2^-8) of the one rounding of C; sums are kept in float32.
    # float32: a sequential sum of k products errs by about 2^-25 sqrt(k/2), 2e-6 at k = 8192.
    tolerance=Tolerance(float32=5e-6, float16=1e-3, bfloat16=8e-3),
    presets=PRODUCTS,
    sweep=PRODUCT_SWEEP,
    odd_sizes=(
        *ODD_PRODUCTS,
        {"m": 136, "n": 264, "k": 72},  # 16-byte rows, but no full tile
        cube(1),
    ),
    # Sums of k products of up to 64 in size stay far below float16's 65504 at random signs.
    large_magnitude=8.0,
    pipe=Pipe.TENSOR,
    # float32 by three products of which one counts: a third of this ceiling is what they can reach.
    multiplies_otherwise=dict.fromkeys(("cuda_tf32x3", "cuda_tf32x3_loose", "triton_tf32x3"), Multiply.TF32),
)
