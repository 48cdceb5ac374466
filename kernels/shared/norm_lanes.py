"""How the gradients of the norms of many short rows are launched: norm_lanes.cuh and its kin."""

from typing import NamedTuple

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.limits import shared_limit
from roofscope.kernels.shared.rows import PACK_BYTES, access_bytes, are_packed

WARP = 32
THREADS = 256  # as in norm_lanes.cuh, and as in norm_skewed.cuh, or those of a row group
MOST_GROUP = 512  # threads of a row
LEAST_ACCESS = 4  # bytes on which all rows begin whose lanes need not begin earlier
# Of rows that begin anywhere and have a thread each.
MOST_SLAB_COLS, FEWEST_SLAB_ROWS, LEAST_SLAB_ELEMENTS = 64, 2**15, 2**18
RESERVED_BYTES = 1024  # of each block, by the driver
SLAB_ROW_BYTES = 12  # beside dy and x: a weight, and what the row has
LEAST_SLAB_BLOCKS = 4  # of a multiprocessor
# Of longer rows of 16 bits that begin anywhere and have a warp each: elements of a lane, and blocks of a
# multiprocessor.
ELEMENTS, FEWEST_ELEMENTS_ROWS = {3: 3, 4: 3, 5: 3, 6: 3, 7: 2, 8: 2, 10: 2}, 2**11
SHORTEST_ELEMENTS_COLS, ELEMENT_BYTES = MOST_SLAB_COLS + 1, 2
MOST_BLOCK_BYTES, MOST_RESIDENT_THREADS = 64 * 1024, 2048  # of shared memory; of a multiprocessor
BLOCKS_PER_MULTIPROCESSOR = 2  # of 128 registers a thread
# Of rows of 16 bits that begin on 4 bytes: lanes of each and their columns, and the fewest such rows.
AHEAD = (
    {(4, 8): 2**14} | dict.fromkeys(((8, 8), (8, 12), (16, 8), (16, 12), (32, 8)), 2**10) | {(32, 12): 2**13}
)
SHORTEST_AHEAD_COLS, SHORTEST_PACKED_COLS, WIDEST_ACCESS = 17, 33, 8  # bytes
# Of longer ones, which begin anywhere: columns of each lane of a warp, and blocks of a multiprocessor.
RUNS, SHORTEST_RUN_COLS = {8: 2, 12: 2, 16: 2, 20: 1, 24: 1, 28: 1, 32: 1}, 161
FEWEST_RUNS, FEWEST_SHORT_RUNS = 2**10, 2**15  # these of rows that might go by elements
RUN_ROWS, MOST_STAGES, HOPPER = 16, 4, "sm_90"  # of a tile and of its ring, as in norm_runs.cuh
MOST_ROWS = 2**30  # of both, which count in 32 bits


def launch_lanes(
    program: CudaProgram,
    name: str,
    inputs: tuple[torch.Tensor, ...],
    dx: torch.Tensor,
    *column_sums: torch.Tensor,
) -> None:
    """Launch ``<name>_packed_8`` or another, by lanes of a row, then ``_columns``.

    ``inputs`` are dy, x, w and what each row has. Raises Refusal where a row group does not hold a row.
    """
    dy, x, *_ = inputs
    rows, cols = x.shape
    if len({tensor.data_ptr() % PACK_BYTES for tensor in (dy, x, dx)}) > 1:
        raise Refusal(
            f"{name}/cuda_lanes takes rows of dy and x that begin alike, within {PACK_BYTES} bytes."
        )
    pack = PACK_BYTES // x.element_size()
    packed = are_packed(cols, dy, x, dx)
    access = access_bytes(cols, *inputs[:3], dx)
    narrow = not packed and access >= LEAST_ACCESS and cols <= WARP * pack
    packs = -(-(cols if packed or narrow else cols + pack - 1) // pack)
    if packs > (WARP if packed else MOST_GROUP):
        raise Refusal(
            f"{name}/cuda_lanes has a pack of {PACK_BYTES} bytes a lane: {WARP} packs at most, or "
            f"{MOST_GROUP} where rows do not begin on {PACK_BYTES} bytes, not {packs}."
        )
    blocks = _ahead(x, access, program.multiprocessor_count)
    if blocks is None and not packed:
        blocks = _runs(program, inputs, dx)
    if blocks is None and not packed and not narrow:
        blocks = _elements(x, program.multiprocessor_count) or _slab(program, inputs, dx)
    if blocks is None:
        lanes = 1 << (packs - 1).bit_length()
        kind = "packed" if packed else f"by_{access}" if narrow else "skewed"
        blocks = _lanes(kind, lanes, rows, pack, program.multiprocessor_count)
    partial = torch.empty((len(column_sums), blocks.count, cols), dtype=torch.float32, device=x.device)
    program.launch(
        *(f"{name}_{blocks.kind}", blocks.count, blocks.threads, *inputs, dx, partial, rows, cols),
        *blocks.sizes,
        shared_bytes=blocks.shared_bytes,
        overlaps=True,
    )
    _add_up(program, name, partial, column_sums)


class _Blocks(NamedTuple):
    """Which kernel they run, how many stay, of each the threads and dynamic shared memory, and more sizes."""

    kind: str
    count: int
    threads: int
    shared_bytes: int = 0
    sizes: tuple[int, ...] = ()


def _lanes(kind: str, lanes: int, rows: int, pack: int, multiprocessors: int) -> _Blocks:
    """Some lanes a row, or where they are more than a warp a group of threads."""
    threads = max(THREADS, lanes)
    most = BLOCKS_PER_MULTIPROCESSOR * multiprocessors * THREADS // threads
    count = max(min(most, -(-rows * lanes // threads)), 1)
    if lanes > WARP:
        count = -(-count // pack) * pack  # each of which has rows that begin alike
    return _Blocks(f"{kind}_{lanes}", count, threads)


def _ahead(x: torch.Tensor, access: int, multiprocessors: int) -> _Blocks | None:
    """Some lanes a row, with the next ones under way: norm_ahead.cuh."""
    rows, cols = x.shape
    chosen = next(((lanes, each) for lanes, each in AHEAD if cols <= lanes * each), None)
    shortest = SHORTEST_PACKED_COLS if access == PACK_BYTES else SHORTEST_AHEAD_COLS
    if chosen is None or cols < shortest or access < LEAST_ACCESS or x.element_size() != ELEMENT_BYTES:
        return None
    if not AHEAD[chosen] <= rows < MOST_ROWS:
        return None
    lanes, each = chosen
    at_once = THREADS // lanes * (4 if each <= PACK_BYTES // ELEMENT_BYTES else 2)  # rows of a block
    count = min(BLOCKS_PER_MULTIPROCESSOR * multiprocessors, -(-rows // at_once))
    return _Blocks(f"ahead_{lanes}_{each}_by_{min(access, WIDEST_ACCESS)}", count, THREADS)


def _runs(program: CudaProgram, inputs: tuple[torch.Tensor, ...], dx: torch.Tensor) -> _Blocks | None:
    """A warp a row, of tiles that come and go as runs of bytes: norm_runs.cuh."""
    dy, x, _, *of_rows = inputs
    rows, cols = x.shape
    each = next((each for each in RUNS if cols <= each * WARP), None)
    if each is None or cols < SHORTEST_RUN_COLS or x.element_size() != ELEMENT_BYTES:
        return None
    fewest = FEWEST_SHORT_RUNS if cols <= max(ELEMENTS) * WARP else FEWEST_RUNS
    if not fewest <= rows < MOST_ROWS or not program.architecture.startswith(HOPPER):
        return None
    if any(tensor.data_ptr() % PACK_BYTES for tensor in (dy, x, *of_rows, dx)):
        return None
    tile_bytes = 2 * RUN_ROWS * (cols * x.element_size() + torch.float32.itemsize)
    room = shared_limit(x.device) // RUNS[each] - RESERVED_BYTES
    stages = min(room // tile_bytes, MOST_STAGES)
    count = min(RUNS[each] * program.multiprocessor_count, -(-rows // RUN_ROWS))
    return _Blocks(f"runs_{each}", count, THREADS, stages * tile_bytes, (stages,))


def _elements(x: torch.Tensor, multiprocessors: int) -> _Blocks | None:
    """A warp a row, for many of some hundred columns that begin anywhere: norm_elements.cuh."""
    rows, cols = x.shape
    each = next((each for each in ELEMENTS if cols <= each * WARP), None)
    is_short = cols < SHORTEST_ELEMENTS_COLS or rows < FEWEST_ELEMENTS_ROWS
    if each is None or is_short or x.element_size() != ELEMENT_BYTES:
        return None
    count = min(ELEMENTS[each] * multiprocessors, -(-rows * WARP // THREADS))
    return _Blocks(f"elements_{each}", count, THREADS)


def _slab(program: CudaProgram, inputs: tuple[torch.Tensor, ...], dx: torch.Tensor) -> _Blocks | None:
    """Blocks that stay, for many short rows that begin anywhere, a thread each: norm_slab.cuh."""
    dy, x, *_ = inputs
    rows, cols = x.shape
    if cols > MOST_SLAB_COLS or rows < FEWEST_SLAB_ROWS or x.numel() < LEAST_SLAB_ELEMENTS:
        return None
    if any(tensor.data_ptr() % PACK_BYTES for tensor in (dy, x, dx)):
        return None
    row_bytes = 2 * cols * x.element_size() + SLAB_ROW_BYTES
    # Smaller blocks where a multiprocessor has few.
    few = rows < LEAST_SLAB_BLOCKS * program.multiprocessor_count * THREADS
    threads = THREADS // 2 if few or THREADS * row_bytes > MOST_BLOCK_BYTES else THREADS
    of_multiprocessor = torch.cuda.get_device_properties(x.device).shared_memory_per_multiprocessor
    most = of_multiprocessor // (threads * row_bytes + RESERVED_BYTES)
    blocks = max(min(most, MOST_RESIDENT_THREADS // threads), 1) * program.multiprocessor_count
    return _Blocks("slab", min(-(-rows // threads), blocks), threads, threads * row_bytes)


def _add_up(
    program: CudaProgram, name: str, partial: torch.Tensor, column_sums: tuple[torch.Tensor, ...]
) -> None:
    _, blocks, cols = partial.shape
    grid, arguments = (-(-cols // WARP), len(column_sums)), (partial, *column_sums, blocks, cols)
    program.launch(f"{name}_columns", grid, (WARP, WARP), *arguments, overlaps=True)
