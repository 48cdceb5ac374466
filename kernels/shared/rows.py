"""Launches kernels over rows that rows.cuh shares among row groups: the choice of the row group."""

import math

import torch

from roofscope import CudaProgram

PACK_BYTES = 16
_WARP = 32
_LANES_PACKS = 4  # of a thread in a row group of lanes
_LANES_THREADS = 128  # of a block of short rows
# Of a row that goes element by element, and elements of each.
_LANES_AND_EACH = ((1, 2), (1, 4), (2, 4), (4, 4), (8, 4), (16, 4))
_MOST_THREADS = 512  # of a block that is a row group
_BLOCK_PACKS = (4, 8)  # of a thread then, at most
_FEW_ROWS = 4096  # of which short ones take a warp each, so that more of the GPU has work
_FEW_ROWS_THREADS = 64  # of a block then
_UNEVEN_BLOCKS = 4  # of a multiprocessor, at most, where calls start early


def launch_rows(
    program: CudaProgram,
    name: str,
    x: torch.Tensor,
    *others: torch.Tensor,
    at_any_alignment: bool = False,
    narrow: tuple[int, ...] = (),
    narrow_packs: int = _BLOCK_PACKS[-1],
    by_elements: bool = False,
) -> None:
    """Launch ``<name>_lanes_8``, ``_warp_1``, ``_block_4`` or another over the rows of ``x``, (rows, cols).

    The arguments are the tensors, which all contiguous with ``cols`` columns, then ``rows`` and ``cols``.
    ``at_any_alignment``: there are ``<name>_any_8``, ``_any_block_4`` and so on for rows that are not packed.
    ``narrow``: the bytes on which such rows may all start so that there are ``<name>_lanes_8_by_<bytes>``,
    ``_block_4_by_<bytes>`` and so on for them, up to ``narrow_packs`` of a thread. ``by_elements``: there are
    ``<name>_elements_<lanes>_<each>`` for short rows that are not packed.
    """
    rows, cols = x.shape
    tensors = (x, *others)
    access = access_bytes(cols, *tensors)
    if by_elements and access < PACK_BYTES and 0 < cols <= math.prod(_LANES_AND_EACH[-1]):
        lanes, each = next(pair for pair in _LANES_AND_EACH if cols <= math.prod(pair))
        group, grid, block = f"elements_{lanes}_{each}", -(-rows * lanes // _LANES_THREADS), _LANES_THREADS
    elif access in narrow and 0 < cols <= narrow_packs * _MOST_THREADS * PACK_BYTES // x.element_size():
        packs = -(-cols * x.element_size() // PACK_BYTES)
        group, grid, block = _narrow_group(rows, packs, access, program.multiprocessor_count)
    else:
        group, grid, block = _row_group(rows, cols, *tensors, at_any_alignment=at_any_alignment)
    early = grid != rows or starts_early(rows, program.multiprocessor_count)
    program.launch(f"{name}_{group}", grid, block, *tensors, rows, cols, overlaps=early)


def starts_early(blocks: int, multiprocessors: int) -> bool:
    """Whether a call with a block for each row is to start while the one before ends.

    Not with a few blocks a multiprocessor: those of the next call come to lie unevenly.
    """
    return not multiprocessors < blocks <= _UNEVEN_BLOCKS * multiprocessors


def access_bytes(cols: int, *tensors: torch.Tensor) -> int:
    """The most bytes, up to 16, on which the rows of all these tensors start."""
    starts = [cols * tensors[0].element_size(), *(tensor.data_ptr() for tensor in tensors)]
    return math.gcd(PACK_BYTES, *starts)


def are_packed(cols: int, *tensors: torch.Tensor) -> bool:
    """True where the rows of all these tensors start on 16 bytes."""
    return access_bytes(cols, *tensors) == PACK_BYTES


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
        for most in _BLOCK_PACKS:
            if packs <= most * _MOST_THREADS:
                name = f"block_{most}" if packed else f"any_block_{most}"
                return name, rows, -(-packs // (most * _WARP)) * _WARP
    return "pieces", rows if cols else 0, min(-(-packs // _WARP) * _WARP, 1024)


def _narrow_group(rows: int, packs: int, access: int, multiprocessors: int) -> tuple[str, int, int]:
    """For accesses of fewer bytes than a pack: threads pass over packs that a row does not have."""
    if packs <= 2 * _WARP and rows <= _FEW_ROWS:
        return f"lanes_32_by_{access}", -(-rows * _WARP // _FEW_ROWS_THREADS), _FEW_ROWS_THREADS
    for lanes in (8, 16, _WARP):
        if packs <= lanes * _LANES_PACKS:
            return f"lanes_{lanes}_by_{access}", -(-rows * lanes // _LANES_THREADS), _LANES_THREADS
    most = next(most for most in _BLOCK_PACKS if packs <= most * _MOST_THREADS)
    warps = -(-packs // (most * _WARP))
    if rows <= multiprocessors:  # which have nothing else to do
        warps = max(warps, min(-(-packs // _WARP), _MOST_THREADS // _WARP))
    return f"block_{most}_by_{access}", rows, warps * _WARP
