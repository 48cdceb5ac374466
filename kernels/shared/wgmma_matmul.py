"""Launches what wgmma_matmul.cuh compiles to: the choice of a tile, the tensor maps, the padding."""

from typing import NamedTuple

import torch
from torch.nn import functional

from roofscope import Argument, CudaProgram, needs_hopper, tensor_map
from roofscope.kernels.shared import loose_rows, wgmma_few_rows
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.tile_shares import new_ticket, room_for_parts
from roofscope.kernels.shared.tile_times import BAND, MOST_OF_A_BOX, ROW, Plan
from roofscope.kernels.shared.wgmma_plans import TILES, best
from roofscope.kernels.shared.whole_rows import both_in_whole_units, pitch

_LINE = 128  # bytes of L2
_HALF_LINE = 64  # a box that begins there waits for no more of them


def multiply(
    program: CudaProgram, key: str, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, *extra: Argument
) -> torch.Tensor:
    """C (m x n) of a dtype from A (m x k) and B, k x n in 16 bits and n x k otherwise.

    Raises Refusal under the name ``key`` where wgmma is missing and beyond 32-bit sizes.
    """
    needs_hopper(key, a.device)
    m, n = a.shape[0], b.shape[1 if b.element_size() == 2 else 0]
    require_32_bit_product(key, m, n, a.shape[1])
    name, plan = choice(program, a, b, dtype)
    if dtype.itemsize == a.element_size() == 2:
        loose = loose_rows.faster_than_tiles(a, b, plan.time_ns, program.multiprocessor_count)
        if loose and m * n:
            return loose(program, a, b, dtype, *extra)
    return launch(program, name, a, b, dtype, *extra, plan=plan)


class Sizes(NamedTuple):
    """What plans are made of, in the order of ``Tile.plans``."""

    m: int
    n: int
    steps: int
    multiprocessors: int
    aligned: tuple[bool, bool]
    clustered: tuple[int, int]
    c_bytes: int


def choice(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype) -> tuple[str, Plan]:
    """The tile and plan of least time, of rows of whole 16 bytes or copied to such."""
    sizes, of_16_bits = sizes_of(program, a, b, dtype), a.element_size() == dtype.itemsize == 2
    if of_16_bits and wgmma_few_rows.takes(a, b):
        return wgmma_few_rows.best(*sizes)
    on_lines = _begins_on(_LINE, a) and _begins_on(_LINE, b)
    return best(*sizes, amid_lines=of_16_bits and not on_lines)


def sizes_of(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype) -> Sizes:
    """Those of a product."""
    m, n = a.shape[0], b.shape[1 if b.element_size() == 2 else 0]
    steps = -(-a.shape[1] * a.element_size() // ROW)
    aligned = (_begins_on(_HALF_LINE, a), _begins_on(_HALF_LINE, b))
    multiprocessors = program.multiprocessor_count
    return Sizes(m, n, steps, multiprocessors, aligned, _clustered(program), dtype.itemsize)


def _clustered(program: CudaProgram) -> tuple[int, int]:
    """Multiprocessors with room for a block in clusters of four, and of eight."""
    four, eight = (
        program.clusters_at_once(name, tile.threads, tile.cluster, tile.shared_bytes) * tile.cluster
        for name in ("across_160x128_2x2", "across_96x128_4x2")
        for tile in (TILES[name],)
    )
    return four, eight


def _begins_on(unit: int, matrix: torch.Tensor) -> bool:
    """Whether every row begins on a multiple of so many bytes."""
    rows, columns = matrix.shape
    return pitch(columns * matrix.element_size(), rows) % unit == 0


def launch(
    program: CudaProgram,
    name: str,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    plan: Plan,
    c_columns: int | None = None,
) -> torch.Tensor:
    """Multiply with the kernel of this name by one of its plans, whatever its fitness.

    Of a C of more ``c_columns`` than B has, the first n are the product and given as a view.
    """
    tile, along_n = TILES[name], b.element_size() == 2
    (m, k), n = a.shape, b.shape[1 if along_n else 0]
    c = torch.empty((m, c_columns or n), dtype=dtype, device=a.device)
    if not m * n:
        return c[:, :n]
    a, b = both_in_whole_units(program, a, b)
    step = ROW // a.element_size()
    sums, flags = room_for_parts(tile, plan, m, n, c)
    if tile.reads_pairs and n % 2:
        extra = tuple(in_pairs(one, n) if isinstance(one, torch.Tensor) else one for one in extra)
    box = ROW // dtype.itemsize
    # Rows of C that are not of whole 16 bytes are stored by threads, and the map of C is that of A.
    is_loose = c.shape[1] * dtype.itemsize % 16 != 0
    c_box = (tile.c_rows, box if tile.columns % box == 0 else box // 2)
    # Of what several blocks of a cluster need each copies a part.
    in_bands = step // (tile.above if tile.columns % (BAND * tile.above) else 1)
    b_box = (in_bands, BAND) if along_n else (tile.columns // tile.above, step)
    a_rows = tile.rows // tile.beside
    a_map = tensor_map(a, (a_rows if a_rows <= MOST_OF_A_BOX else a_rows // 2, step))
    program.launch(
        name,
        plan.blocks,
        tile.threads,
        a_map,
        tensor_map(b, b_box),
        a_map if is_loose else tensor_map(c, c_box),
        m,
        n,
        k,
        sums,
        flags,
        new_ticket(),
        plan.alone,
        c if is_loose else 0,
        *extra,
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return c[:, :n] if c_columns else c


def in_pairs(extra: torch.Tensor, n: int) -> torch.Tensor:
    """With one more element, if it has one for each column."""
    return functional.pad(extra, (0, 1)) if extra.element_size() == 2 and extra.numel() == n else extra
