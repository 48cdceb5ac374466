"""C = gelu(A B + bias), GELU in its tanh form: the first half of a transformer's feed-forward layer.

FLOPs are those of the product. The 10 m n of bias and GELU are left out: other units do them.
"""

from roofscope import Axis, Dtype, KernelSpec, Pipe, TensorSpec, Tolerance, WorkFormula
from roofscope.kernels.matmul_relu.spec import SPEC as RELU
from roofscope.profiling.planning.sizes import ODD_PRODUCTS, PRODUCTS

SPEC = KernelSpec(
    name="matmul_bias_gelu",
    title="Matrix multiplication, bias, then GELU",
    formula="C[i, j] = gelu(sum over l of A[i, l] B[l, j] + bias[j])",
    axes=(
        Axis("m", "rows of A and of C"),
        Axis("n", "columns of B and of C"),
        Axis("k", "columns of A, rows of B: the length of each sum"),
    ),
    inputs=(TensorSpec("a", ("m", "k")), TensorSpec("b", ("k", "n")), TensorSpec("bias", ("n",))),
    outputs=(TensorSpec("c", ("m", "n")),),
    work=WorkFormula(flop_count="2*m*n*k", read_bytes="(m*k + k*n + n)*s", write_bytes="m*n*s"),
    # Twice the unit roundoff (2^-11, 2^-8): where they are not fused, the product is rounded before GELU and
    # C after it. Sums are kept in float32.
    tolerance=Tolerance(float32=5e-6, float16=1e-3, bfloat16=8e-3),
    presets=PRODUCTS,
    sweep=RELU.sweep,
    odd_sizes=(
        *ODD_PRODUCTS,
        {"m": 136, "n": 264, "k": 72},  # 16-byte rows, but no full tile
        # Not one element alone: GELU of a very negative one is nothing to compare with.
        {"m": 1, "n": 7, "k": 1},
    ),
    # Sums of k products of up to 64 in size stay far below float16's 65504 at random signs.
    large_magnitude=8.0,
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
)
