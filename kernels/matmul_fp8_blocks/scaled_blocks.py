"""What launchers of scaled FP8 blocks on wgmma share: what they refuse, and the launch of a tile."""

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.wgmma_tiles import Tile
from roofscope.kernels.shared.whole_rows import both_in_whole_units

BLOCK = 128
_WHOLE_C = 8  # elements of C in 16 bytes


def require_blocks(key: str, a: torch.Tensor, b: torch.Tensor) -> tuple[int, int]:
    """The rows of A and of B, m and n. Raises Refusal where wgmma is missing and beyond 32-bit sizes."""
    if a.dtype != torch.float8_e4m3fn:
        raise Refusal(f"{key} multiplies E4M3; matmul takes wider elements.")
    needs_hopper(key, a.device)
    (m, k), n = a.shape, b.shape[0]
    require_32_bit_product(key, m, n, k)
    return m, n


def launch(
    program: CudaProgram,
    name: str,
    tile: Tile,
    b_boxes: tuple[int, ...],
    *inputs: torch.Tensor,
    takes_any_c: bool = True,
) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness; A (m x k) and B (n x k) in FP8.

    The kernel takes a map of B for boxes of each of so many rows. One that does not take a C with rows of
    other than whole 16 bytes gets a wider one, and a copy of it has the rows that are asked for.
    """
    a, b, scale_a, scale_b = inputs
    (m, k), n = a.shape, b.shape[0]
    beyond = -n % _WHOLE_C
    c = torch.empty((m, n if takes_any_c else n + beyond), dtype=torch.bfloat16, device=a.device)
    if not m * n:
        return c[:, :n].contiguous()
    a, b = both_in_whole_units(program, a.view(torch.uint8), b.view(torch.uint8))
    a_map = tensor_map(a, (tile.rows, BLOCK))
    # Rows of C that TMA does not take are stored by threads, and the map of C is that of A.
    by_threads = takes_any_c and beyond > 0
    program.launch(
        *(name, tile.blocks(tile.count(m, n), program.multiprocessor_count), tile.threads),
        *(a_map, *(tensor_map(b, (rows, BLOCK)) for rows in b_boxes)),
        *(a_map if by_threads else tensor_map(c, (64, 64)), scale_a, scale_b, m, n, k),
        *((c if by_threads else 0,) if takes_any_c else ()),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return c[:, :n].contiguous()
