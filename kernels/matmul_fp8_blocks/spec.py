"""A product in FP8 (E4M3) with a scale for every 128 neighbours of A and every 128 x 128 block of B.

As DeepSeek-V3 trains and serves: a block's outlier costs its own block the digits, and no other. Each product
over 128 elements of k has scales of its own, so its sum leaves the tensor cores, whose accumulators keep some
14 bits, and is added up in float32.
"""

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

K_BLOCKS, N_BLOCKS = "(k + 127)//128", "(n + 127)//128"

SPEC = KernelSpec(
    name="matmul_fp8_blocks",
    title="Matrix multiplication in FP8 by blocks",
    formula="C[i, j] = sum over blocks t of sa[t, i] sb[j / 128, t] (sum over l in t of A[i, l] B[j, l])",
    axes=(
        Axis("m", "rows of A and of C"),
        Axis("n", "rows of B, columns of C"),
        Axis("k", "columns of A and of B: the length of each sum"),
    ),
    inputs=(
        TensorSpec("a", ("m", "k"), Element.FLOAT8_E4M3),
        TensorSpec("b", ("n", "k"), Element.FLOAT8_E4M3),
        # Scales of one block for all rows together, as cuBLAS and DeepGEMM want them.
        TensorSpec("scale_a", (K_BLOCKS, "m"), Element.FLOAT32, Fill.POSITIVE),
        TensorSpec("scale_b", (N_BLOCKS, K_BLOCKS), Element.FLOAT32, Fill.POSITIVE),
    ),
    outputs=(TensorSpec("c", ("m", "n")),),
    work=WorkFormula(
        flop_count="2*m*n*k",
        read_bytes=f"m*k + n*k + 4*({K_BLOCKS})*(m + {N_BLOCKS})",
        write_bytes="m*n*s",
    ),
    # Twice the unit roundoff (2^-8) of the one rounding of C.
    tolerance=Tolerance(float32=5e-6, float16=1e-3, bfloat16=8e-3),
    presets=PRODUCTS,
    sweep=PRODUCT_SWEEP,
    odd_sizes=(
        *ODD_PRODUCTS,
        {"m": 136, "n": 264, "k": 400},  # 16-byte rows, but no full tile
        {"m": 77, "n": 384, "k": 1024},  # whole blocks
        cube(1),
    ),
    large_magnitude=256.0,  # E4M3 ends at 448
    pipe=Pipe.TENSOR,
    multiplies=Multiply.FP8,
    dtypes=(Dtype.BFLOAT16,),
)
