"""Launches few_rows.cuh: statistics of few rows of logits, from rows of w that begin anywhere."""

import torch

from roofscope import CudaProgram

ROWS = (8, 16, 32)
_WARPS, _ROWS_OF_WARP, _WORDS_AT_ONCE = 16, 16, 4  # as in few_rows.cuh
_MOST_SHARED = 222 * 1024  # beside what blocks join their sums in
# About the time of a start, and of the words that a warp reads at once, where memory is not what bounds it.
_START_NS, _WORDS_NS, _BYTES_PER_NS = 2000, 800, 3200


def name_of(rows: int, hidden: int) -> str | None:
    """The kernel whose shared memory has room for so many rows of x."""
    room = next((room for room in ROWS if rows <= room), None)
    return f"few_rows_{room}" if room and hidden and _shared_bytes(room, hidden) <= _MOST_SHARED else None


def time_ns(vocab: int, hidden: int, multiprocessors: int) -> float:
    """About the time that it takes, beyond what all kernels have in common."""
    _, rounds, _ = _grid(vocab, multiprocessors)
    steps = -(-hidden // (_WORDS_AT_ONCE * 32))
    return _START_NS + max(rounds * steps * _WORDS_NS, 2 * vocab * hidden / _BYTES_PER_NS)


def launch(
    program: CudaProgram,
    name: str,
    x: torch.Tensor,
    w: torch.Tensor,
    labels: torch.Tensor,
    at_label: torch.Tensor,
) -> torch.Tensor:
    """The pieces of each row, one of a block."""
    (rows, hidden), vocab = x.shape, len(w)
    blocks, _, warps = _grid(vocab, program.multiprocessor_count)
    pieces = torch.empty((rows, blocks, 2), dtype=torch.float32, device=x.device)
    program.launch(
        *(name, blocks, _WARPS * 32, x.contiguous(), w.contiguous(), labels, pieces, at_label),
        *(rows, vocab, hidden, _pitch(hidden), warps),
        shared_bytes=_shared_bytes(int(name.rpartition("_")[2]), hidden),
        overlaps=True,
    )
    return pieces


def _grid(vocab: int, multiprocessors: int) -> tuple[int, int, int]:
    """Blocks, rounds of them, and warps of each, so that all have as much to do."""
    units = -(-vocab // (8 * _ROWS_OF_WARP)) * 8
    blocks = min(units, multiprocessors)
    rounds = -(-units // (blocks * _WARPS))
    return blocks, rounds, -(-units // (blocks * rounds))


def _pitch(hidden: int) -> int:
    """Elements from one row of x to the next in shared memory: no more than two lanes read the same bank."""
    pairs = (hidden + 49) // 2
    return 2 * (pairs + (17 - pairs) % 32)


def _shared_bytes(room: int, hidden: int) -> int:
    return room * _pitch(hidden) * 2
