"""Launches streamed.cuh, and chooses: TF32 products of few rows of A, for which B streams through the GPU."""

from dataclasses import dataclass

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.tile_shares import new_ticket

_THREADS = 9 * 32  # eight warps that multiply, and one that copies
_WARPS = 8
_FLOAT, _WORD = 4, 16  # bytes


@dataclass(frozen=True)
class Piece:
    """Rows of B and elements of k that a block takes at once, room for rows of A, stages of its ring."""

    tile: int
    step: int
    room: int
    stages: int

    @property
    def name(self) -> str:
        return f"streamed_{self.room}"

    @property
    def shared_bytes(self) -> int:
        """The ring with two barriers a stage, and sums of warps."""
        stage = (self.tile + self.room) * (self.step * _FLOAT + _WORD) + 2 * 8
        return self.stages * stage + _WARPS * self.room * (self.tile + 4) * _FLOAT

    def count(self, n: int, k: int) -> int:
        """Pieces of all of B."""
        return -(-n // self.tile) * -(-k // self.step)


# As in streamed.cuh.
PIECES = (Piece(32, 512, 8, stages=2),)
_LEAST_BYTES = 70_000_000  # of B, of less of which other tiles were as fast
_MOST_PIECES, _MOST_K = 2**31, 2**29  # which 32 bits count


def piece_of(m: int, n: int, k: int) -> Piece | None:
    """Of the kernel for so few rows of A and so much of B; None where none is faster than other tiles."""
    piece = next((piece for piece in PIECES if m <= piece.room), None)
    if not piece or n * k * _FLOAT < _LEAST_BYTES:
        return None
    return piece if k < _MOST_K and piece.count(n, k) < _MOST_PIECES else None


def launch(program: CudaProgram, piece: Piece, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k)."""
    (m, k), n = a.shape, b.shape[0]
    blocks = min(program.multiprocessor_count, piece.count(n, k))
    c = torch.empty((m, n), device=a.device)
    # What blocks leave of tiles that they share, and of each a flag that it is there.
    sums = torch.empty(blocks * piece.tile * piece.room, device=a.device)
    flags = torch.empty(blocks, dtype=torch.int64, device=a.device)
    program.launch(
        piece.name,
        blocks,
        _THREADS,
        *(a, b, c, sums, flags, new_ticket(), m, n, k),
        shared_bytes=piece.shared_bytes,
        overlaps=True,
    )
    return c
