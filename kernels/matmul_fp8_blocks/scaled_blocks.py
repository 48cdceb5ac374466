"""What launchers of scaled FP8 blocks on wgmma share: what they refuse, and the launch of a tile."""

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units
from roofscope.kernels.shared.wgmma_tiles import Tile

BLOCK = 128


def require_blocks(key: str, a: torch.Tensor, b: torch.Tensor) -> tuple[int, int]:
    """The rows of A and of B, m and n. Raises Refusal where wgmma is missing and beyond 32-bit sizes."""
    if a.dtype != torch.float8_e4m3fn:
        raise Refusal(f"{key} multiplies E4M3; matmul takes wider elements.")
    needs_hopper(key, a.device)
    (m, k), n = a.shape, b.shape[0]
    require_32_bit_product(key, m, n, k)
    return m, n


def launch(
    program: CudaProgram, name: str, tile: Tile, b_boxes: tuple[int, ...], *inputs: torch.Tensor
) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness; A (m x k) and B (n x k) in FP8.

    The kernel takes a map of B for boxes of each of so many rows.
    """
    a, b, scale_a, scale_b = inputs
    (m, k), n = a.shape, b.shape[0]
    # Rows of whole 16 bytes; where C has others, a copy at the end makes them so, and counts as time.
    c = torch.empty((m, n + -n % 8), dtype=torch.bfloat16, device=a.device)
    if not m * n:
        return c[:, :n].contiguous()
    a, b = in_whole_units(a.view(torch.uint8)), in_whole_units(b.view(torch.uint8))
    program.launch(
        *(name, tile.blocks(tile.count(m, n), program.multiprocessor_count), tile.threads),
        *(tensor_map(a, (tile.rows, BLOCK)), *(tensor_map(b, (rows, BLOCK)) for rows in b_boxes)),
        *(tensor_map(c, (64, 64)), scale_a, scale_b, m, n, k),
        shared_bytes=tile.shared_bytes,
    )
    return c[:, :n].contiguous()
