"""C = relu(A B): a matrix product with the least that may follow one.

FLOPs are those of the product. The m n maxima are left out: other units do them.
"""

from msgspec.structs import replace

from roofscope import Dtype
from roofscope.kernels.matmul.spec import SPEC as MATMUL
from roofscope.profiling.planning.sizes import cube

SPEC = replace(
    MATMUL,
    name="matmul_relu",
    title="Matrix multiplication, then ReLU",
    formula="C[i, j] = max(sum over l of A[i, l] B[l, j], 0)",
    # Short sums, so that what follows the product counts; then cubes.
    sweep=(
        *({"m": size, "n": size, "k": 512} for size in (256, 512, 1024, 2048, 4096)),
        *(cube(size) for size in (2048, 4096, 8192)),
    ),
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
)
