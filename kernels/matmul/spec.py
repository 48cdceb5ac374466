"""C = A B for row-major A (m x k) and B (k x n), accumulated in float32."""

from profiling.spec import Axis, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula


def _cube(size: int) -> dict[str, int]:
    return {"m": size, "n": size, "k": size}


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
    presets=(
        Preset("small", _cube(512)),
        Preset("medium", _cube(1024)),
        Preset("large", _cube(8192)),
    ),
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
    # Sums of k products of up to 64 in size stay far below float16's 65504 at random signs.
    large_magnitude=8.0,
    pipe=Pipe.TENSOR,
)
