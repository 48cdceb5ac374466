"""C = scale A B^T for FP8 (E4M3) matrices, each with one scale, as inference in FP8 stores them."""

from roofscope import (
    Axis,
    Dtype,
    Element,
    Fill,
    KernelSpec,
    Multiply,
    Pipe,
    TensorSpec,
    Tolerance,
    WorkFormula,
)
from roofscope.profiling.planning.sizes import ODD_PRODUCTS, PRODUCT_SWEEP, PRODUCTS, cube

SPEC = KernelSpec(
    name="matmul_fp8",
    title="Matrix multiplication in FP8",
    formula="C[i, j] = scale_a scale_b sum over l of A[i, l] B[j, l]",
    axes=(
        Axis("m", "rows of A and of C"),
        Axis("n", "rows of B, columns of C"),
        Axis("k", "columns of A and of B: the length of each sum"),
    ),
    # B as torch.nn.Linear keeps its weight: the tensor cores take operands of 8 bits only along k.
    inputs=(
        TensorSpec("a", ("m", "k"), Element.FLOAT8_E4M3),
        TensorSpec("b", ("n", "k"), Element.FLOAT8_E4M3),
        TensorSpec("scale_a", (), Element.FLOAT32, Fill.POSITIVE),
        TensorSpec("scale_b", (), Element.FLOAT32, Fill.POSITIVE),
    ),
    outputs=(TensorSpec("c", ("m", "n")),),
    work=WorkFormula(flop_count="2*m*n*k", read_bytes="m*k + n*k + 8", write_bytes="m*n*s"),
    # Twice the unit roundoff (2^-8) of the one rounding of C. Products are exact; Hopper's tensor cores keep
    # some 14 bits of a running sum.
    tolerance=Tolerance(float32=5e-6, float16=1e-3, bfloat16=8e-3),
    presets=PRODUCTS,
    sweep=PRODUCT_SWEEP,
    odd_sizes=(
        *ODD_PRODUCTS,
        {"m": 136, "n": 264, "k": 80},  # 16-byte rows, but no full tile
        cube(1),
    ),
    large_magnitude=256.0,  # E4M3 ends at 448
    pipe=Pipe.TENSOR,
    multiplies=Multiply.FP8,
    dtypes=(Dtype.BFLOAT16,),
)
