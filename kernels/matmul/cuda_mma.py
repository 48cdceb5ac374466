"""Launcher of cuda_mma.cu: 16-bit tiles on the tensor cores by mma.sync."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.limits import require_32_bit_product

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)

# Rows and columns of a block's tile, threads, bytes of shared memory (stages x step x (rows + columns) x 2).
TILES = {
    "matmul_128x256x64": (128, 256, 256, 3 * 64 * 384 * 2),
    "matmul_128x256x32": (128, 256, 256, 4 * 32 * 384 * 2),
    "matmul_128x128x32": (128, 128, 128, 4 * 32 * 256 * 2),
    "matmul_64x64x64": (64, 64, 128, 3 * 64 * 128 * 2),
    "matmul_64x64x64_any": (64, 64, 128, 3 * 64 * 128 * 2),
}


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n), both contiguous. Raises Refusal for float32 and beyond 32-bit sizes."""
    if a.dtype == torch.float32:
        raise Refusal("matmul/cuda_mma multiplies 16-bit elements; cuda_ffma takes float32.")
    (m, k), n = a.shape, b.shape[1]
    require_32_bit_product("matmul/cuda_mma", m, n, k)
    if n % 8 or k % 8 or a.data_ptr() % 16 or b.data_ptr() % 16:
        return launch(program, "matmul_64x64x64_any", a, b)
    limit = torch.cuda.get_device_properties(a.device).shared_memory_per_block_optin
    # A tile so large that multiprocessors stay idle costs more than it saves.
    for name in ("matmul_128x256x64", "matmul_128x256x32", "matmul_128x128x32"):
        if TILES[name][3] <= limit and _blocks(name, m, n) >= program.multiprocessor_count:
            return launch(program, name, a, b)
    return launch(program, "matmul_64x64x64", a, b)


def launch(program: CudaProgram, name: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness."""
    (m, k), n = a.shape, b.shape[1]
    _, _, threads, shared_bytes = TILES[name]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    program.launch(name, _blocks(name, m, n), threads, a, b, c, m, n, k, shared_bytes=shared_bytes)
    return c


def _blocks(name: str, m: int, n: int) -> int:
    rows, columns = TILES[name][:2]
    return -(-m // rows) * -(-n // columns)
