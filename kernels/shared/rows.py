"""Launches kernels over rows that rows.cuh shares among row groups: the choice of the row group."""

import torch

from roofscope import CudaProgram

PACK_BYTES = 16
_WARP = 32
_LANES_PACKS = 4  # of a thread in a row group of lanes
_LANES_THREADS = 128  # of a block of short rows
_MOST_THREADS = 512  # of a block that is a row group
_FEW_ROWS = 4096  # of which short ones take a warp each, so that more of the GPU has work
_FEW_ROWS_THREADS = 64  # of a block then


def launch_rows(
    program: CudaProgram,
    name: str,
    x: torch.Tensor,
    *others: torch.Tensor,
    at_any_alignment: bool = False,
) -> None:
    """Launch ``<name>_lanes_8``, ``_warp_1``, ``_block_4`` or another over the rows of ``x``, (rows, cols).

    The arguments are the tensors, which all contiguous with ``cols`` columns, then ``rows`` and ``cols``.
    ``at_any_alignment``: there are ``<name>_any_8``, ``_any_block_4`` and so on for rows that are not packed.
    """
    rows, cols = x.shape
    tensors = (x, *others)
    group, grid, block = _row_group(rows, cols, *tensors, at_any_alignment=at_any_alignment)
    program.launch(f"{name}_{group}", grid, block, *tensors, rows, cols)


def are_packed(cols: int, *tensors: torch.Tensor) -> bool:
    """True where the rows of all these tensors start on 16 bytes."""
    starts = [cols * tensors[0].element_size(), *(tensor.data_ptr() for tensor in tensors)]
    return all(start % PACK_BYTES == 0 for start in starts)


def _row_group(rows: int, cols: int, *tensors: torch.Tensor, at_any_alignment: bool) -> tuple[str, int, int]:
    packs = -(-cols * tensors[0].element_size() // PACK_BYTES)
    if packed := are_packed(cols, *tensors):
        for most in (1, 2):  # packs of a thread
            if packs <= most * _WARP and rows <= _FEW_ROWS:
                return f"warp_{most}", -(-rows * _WARP // _FEW_ROWS_THREADS), _FEW_ROWS_THREADS
    if packed or (at_any_alignment and cols):
        for lanes in (8, 16, 32):
            if packs <= lanes * _LANES_PACKS:
                name = f"lanes_{lanes}" if packed else f"any_{lanes}"
                return name, -(-rows * lanes // _LANES_THREADS), _LANES_THREADS
        for most in (4, 8):
            if packs <= most * _MOST_THREADS:
                name = f"block_{most}" if packed else f"any_block_{most}"
                return name, rows, -(-packs // (most * _WARP)) * _WARP
    return "pieces", rows if cols else 0, min(-(-packs // _WARP) * _WARP, 1024)
