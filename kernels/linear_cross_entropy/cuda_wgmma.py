"""Launcher of cuda_wgmma.cu: a linear layer's cross-entropy on the tensor cores by TMA and wgmma."""

import functools
import math
from dataclasses import replace

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.linear_cross_entropy import few_rows, leaves, residues, small_weights
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.tile_shares import by_clusters, new_ticket, room_for_parts
from roofscope.kernels.shared.tile_times import ROW, Plan, Tile, most_blocks
from roofscope.kernels.shared.wgmma_plans import LONG
from roofscope.kernels.shared.wgmma_plans import TILES as MATMUL_TILES
from roofscope.kernels.shared.whole_rows import both_in_whole_units, is_whole, pitch

DOMAIN = "rows < 2**31 - 2**12 and vocab < 2**31 - 2**12 and hidden < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

# As in cuda_wgmma.cu. The times are those of the same tiles in products; of 128 rows by one block those that
# were found here.
TILES = {
    "tile_128x256_pair": MATMUL_TILES["tile_128x256_pair"],
    "tile_128x192_pair": MATMUL_TILES["tile_128x192_2x1"],
    "tile_128x160_pair": MATMUL_TILES["tile_128x160_2x1"],
    "tile_128x256": replace(MATMUL_TILES["tile_128x256"], step_ns=650, parts=1),
    "tile_128x128": replace(MATMUL_TILES["tile_128x128"], step_ns=345, parts=1),
    "tile_64x128": replace(MATMUL_TILES["tile_64x128"], parts=1),
    "tile_64x128_pair": MATMUL_TILES["tile_64x128_2x1"],
    "tile_128x128_four": MATMUL_TILES["tile_128x128_4x1"],
    "tile_64x64": MATMUL_TILES["tile_64x64"],
    "tile_64x64_by_2": MATMUL_TILES["tile_64x64"],
    "tile_64x64_by_4": MATMUL_TILES["tile_64x64"],
    "tile_64x64_by_8": MATMUL_TILES["tile_64x64"],
    "tile_128x64_by_4": Tile(128, 64, stages=8, step_ns=184),
}
# More of them, of leaves.cuh, where rows of w are of whole 16 bytes.
LEAVES = leaves.TILES
# Blocks of a cluster that share a tile along hidden.
PARTS = {"tile_64x64_by_2": 2, "tile_64x64_by_4": 4, "tile_64x64_by_8": 8, "tile_128x64_by_4": 4}
# Those that residues.cuh has too, under its names: about how much of their time in a plan they take there,
# and how many nanoseconds more each round of them does.
RESIDUES = {
    "residues_128x128": ("tile_128x128", 0.79, 5700),
    "residues_64x128": ("tile_64x128", 0.84, 8300),
    "residues_64x64": ("tile_64x64", 0.94, 4800),
    "residues_64x64_by_2": ("tile_64x64_by_2", 0.87, 4700),
    "residues_64x64_by_4": ("tile_64x64_by_4", 0.83, 4700),
}
_STEP = 64  # elements of hidden in a stage
# Beyond what a plan says: times as long takes one by which clusters share a whole round more, and about so
# many nanoseconds more one by which pairs share all tiles, or each round of pairs with no more steps.
_OF_SHARED_ROUND, _ALL_SHARED_NS, _ROUND_NS, _FEW_STEPS = 1.1, 2500, 300, 16
# And one of these tiles; of 128 columns by one block where x has no more rows, and memory bounds it, and by
# pairs where they have more than two rounds.
_OF_TILE = {
    "tile_64x64": 0.97,
    "tile_64x64_by_2": 1.08,
    "tile_64x64_by_4": 1.1,
    "tile_64x64_by_8": 1.31,
    "tile_128x64_by_4": 1.27,
    "tile_64x128": 1.06,
    "tile_64x128_pair": 1.025,
    "tile_128x128_four": 1.12,
}
_WIDE, _OF_WIDE, _FEW_ROWS = "tile_64x128", 0.73, 64
_WIDE_ROUND_NS = 2500  # and more for each of its rounds, which counts beside tiles of leaves.cuh
_PAIR, _OF_ROUNDS = "tile_64x128_pair", 1.2
_THREADS = 256  # of a block that joins, a warp a row, or all of them where a row has more pieces than these
_PIECES_OF_WARP = 128
_THREADS_OF_PARTS = 512  # of a block that joins parts of logits, a block a row
_MOST_ROWS_OF_RESIDUES = 352  # with more pairs of blocks win
_LEAST = "tile_64x64"  # where there is nothing to multiply
_FEW = "few_rows"
_SMALL = "small_weights"
_MOST_FEW_OF_WHOLE = 16  # rows of x with which those may win where tiles need no copy of w
# Times as long as they say take few rows that are more than eight where warps share rows of w.
_OF_SEVERAL = 1.15
# About those of tiles that wait for memory, and of the smallest, which have least of it under way.
_BYTES_PER_NS, _OF_SMALLEST = 2900, {"tile_64x64": 2500}


def run(program: CudaProgram, x: torch.Tensor, w: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``x``, (rows, hidden), by ``w``, (vocab, hidden), at its label. Gives (rows,).

    As in torch a row with label -100 has loss 0; one with another label that is no column has NaN. Raises
    Refusal where wgmma is missing, in float32 and beyond 32-bit sizes.
    """
    key = "linear_cross_entropy/cuda_wgmma"
    if x.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    needs_hopper(key, x.device)
    (rows, hidden), vocab = x.shape, w.shape[0]
    require_32_bit_product(key, rows, vocab, hidden)
    name = choose(rows, vocab, program.multiprocessor_count, hidden, not is_whole(w), residues.suits(w))
    return launch(program, name, x, w, labels)


def choose(
    rows: int,
    vocab: int,
    multiprocessors: int,
    hidden: int,
    is_loose: bool = False,
    begins_whole: bool = True,
) -> str:
    """The tile that takes least time: large ones need fewer bytes a FLOP, small ones fill more units.

    Where w ``is_loose``, because its rows are not of whole 16 bytes, tiles need a copy of it. Few rows of x
    may do without, very few of another w too; so do tiles of residues, where w itself ``begins_whole``. A
    small w needs no tiles.
    """
    if not (rows and vocab and hidden):
        return _LEAST
    name, tiles_ns = _best_of_tiles(rows, vocab, multiprocessors, hidden, is_loose)
    if small := small_weights.room_of(rows):
        small_ns = small_weights.time_ns(small, vocab, hidden, multiprocessors)
        if small_ns < tiles_ns:  # no tile of leaves.cuh was timed there
            name, tiles_ns = _SMALL, small_ns
    if not is_loose and name != _SMALL:
        name, tiles_ns = _best_of_whole(rows, vocab, multiprocessors, hidden)
    times = {name: tiles_ns}
    room = few_rows.room_of(rows, hidden)
    # Where few rows have the least room, residues were never faster, whatever their plans say.
    is_least = room == few_rows.LEAST_ROOM
    if begins_whole and not is_least and rows <= _MOST_ROWS_OF_RESIDUES and residues.takes(vocab, hidden):
        for name in RESIDUES:
            times[name] = _time_of_residues(name, rows, vocab, multiprocessors, hidden)
    if room and (is_loose or rows <= _MOST_FEW_OF_WHOLE):
        grid = few_rows.grid_of(room, vocab, hidden, multiprocessors)
        is_shared = room > few_rows.LEAST_ROOM and grid.sharing > 1
        times[_FEW] = grid.time_ns * (_OF_SEVERAL if is_shared else 1)
    return min(times, key=lambda name: times[name])


def _best_of_tiles(
    rows: int, vocab: int, multiprocessors: int, hidden: int, is_loose: bool
) -> tuple[str, float]:
    """That of least time, and this as few rows count theirs."""
    name, plan = best_tile(rows, vocab, multiprocessors, hidden)
    least_ns = 2 * vocab * hidden / _BYTES_PER_NS
    copy_ns = few_rows.copy_ns(vocab, hidden) if is_loose else 0
    return name, max(plan.time_ns, least_ns) + copy_ns + few_rows.BESIDE_NS


@functools.lru_cache(maxsize=4096)
def _best_of_whole(rows: int, vocab: int, multiprocessors: int, hidden: int) -> tuple[str, float]:
    """Of tiles that need no copy of w, those of leaves.cuh among them: memory bounds these less."""
    name, time_ns = leaves.best(rows, vocab, multiprocessors, hidden)
    if math.isinf(time_ns):
        name, plan = best_tile(rows, vocab, multiprocessors, hidden)
        time_ns = plan.time_ns
    else:
        plans = plans_of_tiles(rows, vocab, multiprocessors, hidden)
        alone_of = {name: plan.alone for name, plan in plans.items() if name in leaves.BESIDE}
        beside = leaves.times_beside(alone_of, rows, vocab, multiprocessors, hidden)
        beside |= {name: plan.time_ns for name, plan in plans.items() if name in PARTS}
        other = min(beside, key=lambda name: beside[name])
        if beside[other] < time_ns:
            name, time_ns = other, beside[other]
    if name in LEAVES or rows > few_rows.LEAST_ROOM:
        return name, time_ns + few_rows.BESIDE_NS
    return _best_of_tiles(rows, vocab, multiprocessors, hidden, is_loose=False)


def best_tile(rows: int, vocab: int, multiprocessors: int, hidden: int) -> tuple[str, Plan]:
    """That of least time, and the plan by which blocks have its tiles."""
    plans = plans_of_tiles(rows, vocab, multiprocessors, hidden)
    return min(plans.items(), key=lambda item: item[1].time_ns)


@functools.lru_cache(maxsize=4096)
def plans_of_tiles(rows: int, vocab: int, multiprocessors: int, hidden: int) -> dict[str, Plan]:
    """Of tiles that may be the fastest, those of leaves.cuh not among them."""
    is_long = rows > 64 and rows * vocab * -(-hidden // _STEP) > LONG
    names = [
        name
        for name, tile in TILES.items()
        if (tile.columns == 256 or not is_long) and most_blocks(tile.cluster, multiprocessors)
    ]
    return {name: plan_of(name, rows, vocab, multiprocessors, hidden) for name in names}


def plan_of(name: str, rows: int, vocab: int, multiprocessors: int, hidden: int) -> Plan:
    """The plan of least time for a tile of this name."""
    on_lines = pitch(2 * hidden, vocab) % ROW == 0
    plan = _plan(name, rows, vocab, -(-hidden // _STEP), multiprocessors, (on_lines, on_lines))
    least_ns = 2 * vocab * hidden / _OF_SMALLEST.get(name, math.inf)
    return replace(plan, time_ns=max(plan.time_ns, least_ns))


@functools.lru_cache(maxsize=4096)
def _time_of_residues(name: str, rows: int, vocab: int, multiprocessors: int, hidden: int) -> float:
    """Infinite where half a tile would have no rows."""
    of_tile, of_plan, round_ns = RESIDUES[name]
    tile, parts = TILES[of_tile], PARTS.get(of_tile, 1)
    if tile.rows - rows >= 64:
        return math.inf
    columns = residues.columns_of(tile, vocab, residues.period_of(hidden))
    plan = _plan(of_tile, rows, columns, -(-hidden // _STEP) + 1, multiprocessors, (True, False))
    at_once = max(most_blocks(parts, multiprocessors), parts)
    rounds = -(-tile.count(rows, columns) * parts // at_once)
    return of_plan * plan.time_ns + rounds * round_ns + residues.copies_ns(rows, hidden) + few_rows.BESIDE_NS


def _plan(
    name: str, rows: int, vocab: int, steps: int, multiprocessors: int, aligned: tuple[bool, bool]
) -> Plan:
    tile, of_tile = TILES[name], _OF_TILE.get(name, 1)
    if name == _WIDE and rows <= _FEW_ROWS:
        of_tile = _OF_WIDE
    if name in PARTS:
        step_ns = tile.step_of(aligned)
        plan = by_clusters(tile, rows, vocab, steps, PARTS[name], step_ns, multiprocessors)
    else:
        plans = tile.plans(rows, vocab, steps, multiprocessors, aligned, c_bytes=0)
        count = tile.count(rows, vocab)
        plan = min((_held(plan, count, tile, steps) for plan in plans), key=lambda plan: plan.time_ns)
        if name == _PAIR and count > plan.blocks:
            of_tile *= _OF_ROUNDS
    return replace(plan, time_ns=plan.time_ns * of_tile)


def _held(plan: Plan, count: int, tile: Tile, steps: int) -> Plan:
    """The same; later where clusters share all tiles, or more than they are, each a part of two or three."""
    time_ns = plan.time_ns
    if count - plan.alone > plan.blocks // tile.cluster:
        time_ns *= _OF_SHARED_ROUND
    if not plan.alone:
        time_ns += _ALL_SHARED_NS
    if tile.cluster > 1 and steps <= _FEW_STEPS:
        time_ns += _ROUND_NS * -(-count * tile.cluster // plan.blocks)
    return replace(plan, time_ns=time_ns)


def launch(
    program: CudaProgram, name: str, x: torch.Tensor, w: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """The losses with the kernels of this name, whatever their fitness."""
    rows, vocab = len(x), len(w)
    loss = torch.empty(rows, dtype=x.dtype, device=x.device)
    if not rows:
        return loss
    if name == _FEW:
        return _of_few_rows(program, x, w, labels, loss)
    at_label = torch.empty(rows, dtype=torch.float32, device=x.device)
    if name in RESIDUES:
        of_tile = RESIDUES[name][0]
        tile, parts = TILES[of_tile], PARTS.get(of_tile, 1)
        pieces = residues.launch(program, name, tile, parts, x, w, labels, at_label)
    elif name == _SMALL:
        pieces = small_weights.launch(program, x, w, labels, at_label)
    elif name in LEAVES:
        pieces = leaves.launch(program, name, x, w, labels, at_label)
    else:
        pieces = _pieces_of_tiles(program, name, x, w, labels, at_label)
    return _joined(program, pieces, at_label, labels, loss, vocab)


def _joined(
    program: CudaProgram,
    pieces: torch.Tensor,
    at_label: torch.Tensor,
    labels: torch.Tensor,
    loss: torch.Tensor,
    vocab: int,
) -> torch.Tensor:
    rows = len(loss)
    count = pieces.shape[1]
    by_blocks = count > _PIECES_OF_WARP
    name, blocks = ("join_by_blocks", rows) if by_blocks else ("join", -(-rows * 32 // _THREADS))
    arguments = (pieces, at_label, labels, loss, rows, count, vocab)
    program.launch(name, blocks, _THREADS, *arguments, overlaps=True)
    return loss


def _of_few_rows(
    program: CudaProgram, x: torch.Tensor, w: torch.Tensor, labels: torch.Tensor, loss: torch.Tensor
) -> torch.Tensor:
    (rows, hidden), vocab = x.shape, len(w)
    room = few_rows.room_of(rows, hidden)
    if room is None:
        raise Refusal(f"No block has room for {rows} rows of {hidden} elements.")
    grid = few_rows.grid_of(room, vocab, hidden, program.multiprocessor_count)
    if grid.parts > 1:
        logits = torch.empty((grid.parts, vocab, room), dtype=torch.float32, device=x.device)
        few_rows.launch(program, room, grid, x, w, labels, logits, None)
        arguments = (logits, labels, loss, vocab, grid.parts, room)
        program.launch("join_parts", rows, _THREADS_OF_PARTS, *arguments, overlaps=True)
        return loss
    at_label = torch.empty(rows, dtype=torch.float32, device=x.device)
    pieces = few_rows.launch(program, room, grid, x, w, labels, None, at_label)
    assert pieces is not None
    return _joined(program, pieces, at_label, labels, loss, vocab)


def _pieces_of_tiles(
    program: CudaProgram,
    name: str,
    x: torch.Tensor,
    w: torch.Tensor,
    labels: torch.Tensor,
    at_label: torch.Tensor,
) -> torch.Tensor:
    """The pieces of each row, one of a tile, or of a block's part of it."""
    tile, parts, (rows, hidden), vocab = TILES[name], PARTS.get(name, 1), x.shape, len(w)
    plan = plan_of(name, rows, vocab, program.multiprocessor_count, hidden)
    x, w = both_in_whole_units(program, x, w)
    pieces = torch.empty((rows, -(-vocab // tile.columns) * parts, 2), dtype=torch.float32, device=x.device)
    sums, flags = room_for_parts(tile, plan, rows, vocab, pieces)
    program.launch(
        *(name, plan.blocks, tile.threads),
        *(tensor_map(x, (tile.rows, _STEP)), tensor_map(w, (tile.columns // tile.above, _STEP))),
        *(labels, pieces, at_label, rows, vocab, hidden, sums, flags, new_ticket(), plan.alone),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return pieces
