"""What launchers of scaled FP8 blocks on wgmma share: what they refuse, and the launch of a tile."""

from dataclasses import dataclass

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.shared import wgmma_tiles
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.whole_rows import both_in_whole_units

BLOCK = 128
WHOLE_C = 8  # elements of C in 16 bytes


@dataclass(frozen=True)
class Tile(wgmma_tiles.Tile):
    """With the scales of each stage behind the boxes."""

    @property
    def shared_bytes(self) -> int:
        return super().shared_bytes + self.stages * (self.rows + 4) * 4


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
    tile: wgmma_tiles.Tile,
    b_boxes: tuple[int, ...],
    *inputs: torch.Tensor,
    c_columns: int | None = None,
) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness; A (m x k) and B (n x k) in FP8.

    The kernel takes a map of B for boxes of each of so many rows. One that stores no C with rows of other
    than whole 16 bytes has ``c_columns`` that make such rows: the first n are the product, given as a view.
    """
    a, b, scale_a, scale_b = inputs
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, c_columns or n), dtype=torch.bfloat16, device=a.device)
    if not m * n:
        return c[:, :n]
    a, b = both_in_whole_units(program, a.view(torch.uint8), b.view(torch.uint8))
    a_map = tensor_map(a, (tile.rows, BLOCK))
    # Rows of C that TMA does not take are stored by threads, and the map of C is that of A.
    by_threads = c.shape[1] % WHOLE_C > 0
    program.launch(
        *(name, tile.blocks(tile.count(m, n), program.multiprocessor_count), tile.threads),
        *(a_map, *(tensor_map(b, (rows, BLOCK)) for rows in b_boxes)),
        *(a_map if by_threads else tensor_map(c, (64, 64)), scale_a, scale_b, m, n, k),
        *(() if c_columns else (c if by_threads else 0,)),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return c[:, :n] if c_columns else c
