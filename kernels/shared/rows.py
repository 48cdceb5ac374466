"""Launches kernels over rows that rows.cuh shares among row groups: the choice of the row group."""

import math
from typing import NamedTuple

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.slab import Slab, Space, slab_of

PACK_BYTES = 16
_WARP = 32
_LANES_PACKS = 4  # of a thread in a row group of lanes
_LANES_THREADS = 128  # of a block of short rows
# Of a row that goes element by element, and elements of each.
_LANES_AND_EACH = ((1, 2), (1, 4), (2, 4), (4, 4), (8, 4), (16, 4), (16, 8))
_MOST_NARROW_ELEMENTS = 64  # by elements of a row that begins on 4 bytes
_PAIR_LANES = (1, 2, 4, 8)  # of a row of up to two packs each, where rows are many
_ONES_LANES = (4, 8, 16, 32)  # of a row of 16-bit elements with a pack each
_FEWEST_ONES_COLS = 17
_FEWEST_FEW_ONES_COLS = 9  # of rows that would go by elements, in twice the accesses or more
# Elements of a lane, where a warp keeps a row as floats by as few accesses of so many bytes as hold it, as in
# exact_rows.cuh; and the columns that less takes.
_EXACT_ELEMENTS = {16: (16, 24, 32, 40, 48, 64)} | dict.fromkeys((8, 4), (12, 16, 20, 24, 32, 40, 52, 64))
_SHORTER_THAN_EXACT = 256
# Of many rows that all begin on 16 bytes: columns for which accesses of fewer bytes may be the faster.
_NARROWER_EXACT_COLS = range(513, 1025)
# Of short rows on 8 bytes: elements of each of 8 lanes, of rows so long that all have all but one access.
_EIGHTHS, _EIGHTHS_BYTES, _EIGHTHS_LANES, _FEWEST_EIGHTHS = (12, 16, 20), 8, 8, 2**14
_SHORTEST_EIGHTHS = 65  # columns
# In eighths of an element: such lanes cost nine for each that they have room for, and slabs, where lanes keep
# their rows, eight for each that there is and so many once.
ONES_UNLESS_KEPT = 15 * 2**19
# Of a slab: shorter rows go as fast by elements, and of fewer elements shared memory does not pay, nor where
# rows are long for how few threads have one.
_LEAST_SLAB_COLS, _LEAST_SLAB_ELEMENTS, _ROWS_OF_A_COLUMN = 5, 2**20, 768
_LONGEST_SLAB_ROW_BYTES = 128
# Where columns have scales and rows begin on no 4 bytes, scales lie otherwise in each, and all else is slow.
_LONGEST_LOOSE_ROW_BYTES, _FEWEST_LOOSE_ROWS, _NARROWEST_BYTES = 514, 2**11, 4
# By elements a row takes room for a power of two of them: rows that lanes keep pay from so much room on, and
# slabs of 16 bits also where so much of it would be left empty, or more where a block has two.
_LEAST_KEPT_ELEMENTS, _LEAST_EMPTY_ELEMENTS, _LEAST_EMPTY_OF_TWO = 3 * 2**18, 3 * 2**17, 5 * 2**17
_HELD_BYTES = 2  # of the elements of rows that lanes keep
_MOST_THREADS = 512  # of a block that is a row group
_BLOCK_PACKS = (4, 8)  # of a thread then, at most
_FEW_ROWS = 4096  # of which short ones take a warp each, so that more of the GPU has work,
_FEW_PACKED_COLS = 16  # and shorter ones go by elements, wherever they begin: packs would be for few blocks
_FEW_ROWS_THREADS = 64  # of a block then; of packed rows only where they are so few:
_FEWER_ROWS = 2048
_UNEVEN_BLOCKS = 4  # of a multiprocessor, at most, where calls start early


class Short(NamedTuple):
    """How ``<name>_slab_<width>_<lanes>`` take short rows that begin on no 16 bytes."""

    space: Space  # in shared memory
    # Of a row of up to so many columns of 16 bits, or one more where those are odd; of float32 a lane has it.
    lanes: tuple[tuple[int, int], ...] = ((1, 64),)
    kept: bool = False  # in registers, of 16 bits


class Held(NamedTuple):
    """Rows that a thread holds in registers: the least columns, and how many it has room for."""

    least: int
    sizes: tuple[int, ...]


def launch_rows(
    program: CudaProgram,
    name: str,
    x: torch.Tensor,
    *others: torch.Tensor,
    at_any_alignment: bool = False,
    narrow: tuple[int, ...] = (),
    narrow_packs: int = _BLOCK_PACKS[-1],
    by_elements: int = 0,
    ones: float = 0,
    pairs: bool = False,
    slab: Short | None = None,
    held: Held | None = None,
    exact: int = 0,
    eighths: bool = False,
) -> None:
    """Launch ``<name>_lanes_8``, ``_warp_1``, ``_block_4`` or another over the rows of ``x``, (rows, cols).

    The arguments are the tensors, which all contiguous with ``cols`` columns, then ``rows`` and ``cols``.
    ``at_any_alignment``: there are ``<name>_any_8``, ``_any_block_4`` and so on for rows that are not packed.
    ``narrow``: the bytes on which such rows may all start so that there are ``<name>_lanes_8_by_<bytes>``,
    ``_block_4_by_<bytes>`` and so on for them, up to ``narrow_packs`` of a thread. ``by_elements``: there are
    ``<name>_elements_<lanes>_<each>`` for short rows that are not packed, of up to so many columns. ``ones``:
    there are ``<name>_ones_4_by_<bytes>`` to ``_32`` for narrow short rows of 16 bits, unless they cost so
    much more than slabs. ``pairs``: there are ``<name>_pairs_1`` to ``_8`` for many short rows that are
    packed. ``slab``: how those that are not go by way of shared memory, where they are many. ``held``: there
    are ``<name>_held_8_1`` and so on for rows of 16-bit elements that a thread holds there. ``exact``: there
    are ``<name>_exact_12_by_8`` and so on for rows of 16-bit elements that are neither short nor long, where
    many go by accesses of so many bytes at most. ``eighths``: there are ``<name>_eighths_12`` to ``_20`` for
    rows that start on 8 bytes, of which 8 lanes have one.
    """
    rows, cols = x.shape
    tensors = (x, *others)
    access = access_bytes(cols, *tensors)
    are_few = rows <= _FEW_ROWS and cols <= _FEW_PACKED_COLS and x.element_size() == _HELD_BYTES
    few_elements = 0 < cols <= by_elements and (access < PACK_BYTES or are_few)
    if found := (
        (_eighths_of(x, access) if eighths else None)
        or ones_of(x, access, ones)
        or (exact_of(x, access, exact) if exact else None)
    ):
        group, grid, block = found
    elif slab and (found := many_short_rows(slab, x, *others)):
        name, grid, block, shared = _slab_kernel(name, x, found, held)
        program.launch(name, grid, block, *tensors, rows, cols, shared_bytes=shared, overlaps=True)
        return
    elif few_elements and (access not in narrow or cols <= _MOST_NARROW_ELEMENTS):
        found = ones_of(x, access, math.inf, _FEWEST_FEW_ONES_COLS) if ones else None
        group, grid, block = found or _elements_group(rows, cols)
    elif access in narrow and 0 < cols <= narrow_packs * _MOST_THREADS * PACK_BYTES // x.element_size():
        packs = -(-cols * x.element_size() // PACK_BYTES)
        group, grid, block = _narrow_group(rows, packs, access, program.multiprocessor_count)
    else:
        how = {"at_any_alignment": at_any_alignment, "pairs": pairs}
        group, grid, block = _row_group(rows, cols, *tensors, **how)
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


def ones_of(
    x: torch.Tensor, access: int, most: float, fewest: int = _FEWEST_ONES_COLS
) -> tuple[str, int, int] | None:
    """``ones_4_by_8`` or another, its blocks and their threads, for rows that all begin on ``access`` bytes.

    None where it would cost more than ``most``, where rows have less than ``fewest`` columns, or where no
    such kernel takes them.
    """
    rows, cols = x.shape
    pack = PACK_BYTES // _HELD_BYTES
    lanes = next((lanes for lanes in _ONES_LANES if cols <= lanes * pack), 0)
    takes = x.element_size() == _HELD_BYTES and _NARROWEST_BYTES <= access < PACK_BYTES
    if not lanes or not takes or cols < fewest or rows * (9 * lanes * pack - 8 * cols) > most:
        return None
    return f"ones_{lanes}_by_{access}", -(-rows * lanes // _LANES_THREADS), _LANES_THREADS


def _eighths_of(x: torch.Tensor, access: int) -> tuple[str, int, int] | None:
    """``eighths_12`` or another, its blocks and their threads, for rows that begin on ``access`` bytes."""
    rows, cols = x.shape
    if x.element_size() != _HELD_BYTES or access != _EIGHTHS_BYTES:
        return None
    each = next((each for each in _EIGHTHS if cols <= each * _EIGHTHS_LANES), None)
    if each is None or rows < _FEWEST_EIGHTHS or cols < _SHORTEST_EIGHTHS:
        return None
    return f"eighths_{each}", -(-rows * _EIGHTHS_LANES // _LANES_THREADS), _LANES_THREADS


def exact_of(x: torch.Tensor, access: int, most: int = PACK_BYTES) -> tuple[str, int, int] | None:
    """``exact_12_by_8`` or another, its blocks and their threads, for rows that begin on ``access`` bytes.

    Of many rows by ``most`` bytes at most.
    """
    rows, cols = x.shape
    if rows > _FEW_ROWS and cols in _NARROWER_EXACT_COLS:
        access = min(access, most)
    if x.element_size() != _HELD_BYTES or cols <= _SHORTER_THAN_EXACT:
        return None
    each = next((each for each in _EXACT_ELEMENTS.get(access, ()) if cols <= each * _WARP), None)
    if each is None:
        return None
    return f"exact_{each}_by_{access}", -(-rows * _WARP // _LANES_THREADS), _LANES_THREADS


def _elements_group(rows: int, cols: int) -> tuple[str, int, int]:
    lanes, each = next(pair for pair in _LANES_AND_EACH if cols <= math.prod(pair))
    return f"elements_{lanes}_{each}", -(-rows * lanes // _LANES_THREADS), _LANES_THREADS


def many_short_rows(short: Short, x: torch.Tensor, *others: torch.Tensor) -> Slab | None:
    """A slab for rows so short and many that nothing else is as fast; all tensors begin on 16 bytes."""
    rows, cols = x.shape
    if any(tensor.data_ptr() % PACK_BYTES for tensor in others):
        return None
    two_bytes = x.element_size() == _HELD_BYTES
    kept, row_bytes = short.kept and two_bytes, cols * x.element_size()
    lanes = next((lanes for lanes, most in short.lanes if cols - cols % 2 <= most), 0) if two_bytes else 1
    if not lanes or cols < _LEAST_SLAB_COLS:
        return None
    if row_bytes > _LONGEST_SLAB_ROW_BYTES:
        is_slow = short.space.column_floats > 0 and (kept or row_bytes % _NARROWEST_BYTES != 0)
        longest, fewest = _LONGEST_LOOSE_ROW_BYTES, _FEWEST_LOOSE_ROWS
        return slab_of(x, longest, fewest, short.space, lanes=lanes) if is_slow else None
    elements, room = rows * cols, rows << (cols - 1).bit_length()
    least_empty = _LEAST_EMPTY_ELEMENTS if short.space.slabs == 1 else _LEAST_EMPTY_OF_TWO
    leaves_empty = two_bytes and room - elements >= least_empty
    if room < _LEAST_KEPT_ELEMENTS if kept else elements < _LEAST_SLAB_ELEMENTS and not leaves_empty:
        return None
    fewest = 1 if kept else _ROWS_OF_A_COLUMN * cols
    return slab_of(x, _LONGEST_SLAB_ROW_BYTES, fewest, short.space, lanes=lanes)


def _slab_kernel(name: str, x: torch.Tensor, slab: Slab, held: Held | None) -> tuple[str, int, int, int]:
    """The kernel, its blocks, their threads and their shared memory."""
    rows, cols = x.shape
    # Of an odd number of 16-bit elements one lies beside the accesses.
    each = cols - cols % 2
    if held and x.element_size() == _HELD_BYTES and cols >= held.least and each <= held.sizes[-1]:
        size = next(size for size in held.sizes if each <= size)
        shared = _LANES_THREADS * cols * _HELD_BYTES
        return f"{name}_held_{size}_{slab.width}", -(-rows // _LANES_THREADS), _LANES_THREADS, shared
    return f"{name}_slab_{slab.width}_{slab.lanes}", slab.blocks, slab.threads, slab.shared_bytes


def _row_group(
    rows: int, cols: int, *tensors: torch.Tensor, at_any_alignment: bool, pairs: bool
) -> tuple[str, int, int]:
    packs = -(-cols * tensors[0].element_size() // PACK_BYTES)
    if packed := are_packed(cols, *tensors):
        ones = next((lanes for lanes in _PAIR_LANES if packs <= lanes), 0)  # that have a pack each
        if pairs and ones and rows <= _FEW_ROWS:  # of a warp, most lanes would have none
            return f"pairs_{ones}", -(-rows * ones // _LANES_THREADS), _LANES_THREADS
        for most in (1, 2):  # packs of a thread
            if packs <= most * _WARP and rows <= _FEW_ROWS:
                threads = _FEW_ROWS_THREADS if rows <= _FEWER_ROWS else _LANES_THREADS
                return f"warp_{most}", -(-rows * _WARP // threads), threads
        for lanes in _PAIR_LANES if pairs else ():
            if packs <= 2 * lanes:
                return f"pairs_{lanes}", -(-rows * lanes // _LANES_THREADS), _LANES_THREADS
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
