"""C = scale A B^T for FP8 (E4M3) matrices, each with one scale, as inference in FP8 stores them."""

from profiling.spec import (
    Axis,
    Dtype,
    Element,
    Fill,
    KernelSpec,
    Multiply,
    Pipe,
    Preset,
    TensorSpec,
    Tolerance,
    WorkFormula,
)


def _cube(size: int) -> dict[str, int]:
    return {"m": size, "n": size, "k": size}


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
    presets=(Preset("small", _cube(512)), Preset("medium", _cube(1024)), Preset("large", _cube(8192))),
    sweep=tuple(_cube(size) for size in (128, 256, 512, 1024, 2048, 3072, 4096, 8192)),
    odd_sizes=(
        {"m": 129, "n": 257, "k": 65},  # one past every tile, rows of both inputs not 16-byte aligned
        {"m": 200, "n": 1003, "k": 517},
        {"m": 136, "n": 264, "k": 80},  # 16-byte rows, but no full tile
        {"m": 33, "n": 48, "k": 1},
        {"m": 1, "n": 300, "k": 160},
        {"m": 300, "n": 1, "k": 160},
        {"m": 1, "n": 1, "k": 1},
        {"m": 0, "n": 64, "k": 64},
        {"m": 40, "n": 24, "k": 0},  # an empty sum is 0
    ),
    large_magnitude=256.0,  # E4M3 ends at 448
    pipe=Pipe.TENSOR,
    multiplies=Multiply.FP8,
    dtypes=(Dtype.BFLOAT16,),
)
