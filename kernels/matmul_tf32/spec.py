"""C = A B^T in TF32: float32 in and out, of whose 23 bits the tensor cores multiply 10."""

from profiling.spec import Axis, Dtype, KernelSpec, Multiply, Pipe, Preset, TensorSpec, Tolerance, WorkFormula


def _cube(size: int) -> dict[str, int]:
    return {"m": size, "n": size, "k": size}


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
    presets=(Preset("small", _cube(512)), Preset("medium", _cube(1024)), Preset("large", _cube(8192))),
    sweep=tuple(_cube(size) for size in (128, 256, 512, 1024, 2048, 3072, 4096, 8192)),
    odd_sizes=(
        {"m": 129, "n": 257, "k": 65},  # one past every tile, rows of both inputs not 16-byte aligned
        {"m": 200, "n": 1003, "k": 517},
        {"m": 136, "n": 264, "k": 72},  # 16-byte rows, but no full tile
        {"m": 33, "n": 48, "k": 1},
        {"m": 1, "n": 300, "k": 160},
        {"m": 300, "n": 1, "k": 160},
        {"m": 1, "n": 1, "k": 1},
        {"m": 0, "n": 64, "k": 64},
        {"m": 40, "n": 24, "k": 0},  # an empty sum is 0
    ),
    large_magnitude=1e4,
    pipe=Pipe.TENSOR,
    multiplies=Multiply.TF32,
    dtypes=(Dtype.FLOAT32,),
)
