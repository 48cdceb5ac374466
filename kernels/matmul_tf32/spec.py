"""C = A B^T in TF32: float32 in and out, of whose 23 bits the tensor cores multiply 10."""

from roofscope import Axis, Dtype, KernelSpec, Multiply, Pipe, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import ODD_PRODUCTS, PRODUCT_SWEEP, PRODUCTS, cube

SPEC = KernelSpec(
    name="matmul_tf32",
    title="Matrix multiplication in TF32",
    formula="C[i, j] = sum over l of A[i, l] B[j, l]",
    axes=(
        Axis("m", "rows of A and of C"),
        Axis("n", "rows of B, columns of C"),
        Axis("k", "columns of A and of B: the length of each sum"),
    ),
    # B as torch.nn.Linear keeps its weight: wgmma takes operands of 32 bits only along k.
    inputs=(TensorSpec("a", ("m", "k")), TensorSpec("b", ("n", "k"))),
    outputs=(TensorSpec("c", ("m", "n")),),
    work=WorkFormula(flop_count="2*m*n*k", read_bytes="(m*k + n*k)*s", write_bytes="m*n*s"),
    # Cutting off 13 bits takes 3.4e-4 of an element on average, 7e-4 of a product; bfloat16 takes 1.1e-3.
    tolerance=Tolerance(float32=1e-3, float16=1e-3, bfloat16=8e-3),
    presets=PRODUCTS,
    sweep=PRODUCT_SWEEP,
    odd_sizes=(
        *ODD_PRODUCTS,
        {"m": 136, "n": 264, "k": 72},  # 16-byte rows, but no full tile
        cube(1),
    ),
    large_magnitude=1e4,
    pipe=Pipe.TENSOR,
    multiplies=Multiply.TF32,
    dtypes=(Dtype.FLOAT32,),
)
