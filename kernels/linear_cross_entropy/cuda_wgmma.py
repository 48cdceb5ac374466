"""Launcher of cuda_wgmma.cu: a linear layer's cross-entropy on the tensor cores by TMA and wgmma."""

import torch

from roofscope import Argument, CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.loose_ring import LooseTile, as_they_lie
from roofscope.kernels.shared.wgmma_tiles import Tile
from roofscope.kernels.shared.whole_rows import both_in_whole_units

DOMAIN = "rows < 2**31 - 2**12 and vocab < 2**31 - 2**12 and hidden < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

# As in cuda_wgmma.cu, and the time of a step on an H100; that of the last three is a guess.
TILES = {
    "tile_128x256_pair": Tile(128, 256, stages=4, step_ns=690, cluster=2),
    "tile_128x256": Tile(128, 256, stages=4, step_ns=780),
    "tile_128x128": Tile(128, 128, stages=6, step_ns=440),
    "tile_64x128": Tile(64, 128, stages=8, step_ns=270),
    "tile_64x64": Tile(64, 64, stages=8, step_ns=200),
    "tile_64x64_by_8": Tile(64, 64, stages=8, step_ns=200),
}
# The same from rows that begin anywhere, none of which `choose` takes: their times are not known yet.
LOOSE = {
    "loose_64x64": LooseTile(64, 64, stages=6, steps=2),
    "loose_64x128": LooseTile(64, 128, stages=4, steps=2),
    "loose_128x128": LooseTile(128, 128, stages=6),
    "loose_64x64_by_8": LooseTile(64, 64, stages=6, steps=2),
}
PARTS = {"tile_64x64_by_8": 8, "loose_64x64_by_8": 8}  # blocks of a cluster that share a tile along hidden
_EXCHANGE_NS = 2000  # of their sums; a guess
_STEP = 64  # elements of hidden in a stage
_THREADS = 256  # of a block that joins, a warp a row


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
    name = choose(rows, vocab, program.multiprocessor_count, hidden)
    return launch(program, name, x, w, labels)


def choose(rows: int, vocab: int, multiprocessors: int, hidden: int) -> str:
    """The tile that takes least time: large ones need fewer bytes a FLOP, small ones fill more units."""
    steps = -(-hidden // _STEP)

    def time(name: str) -> int:
        parts = PARTS.get(name, 1)
        rounds = -(-TILES[name].count(rows, vocab) * parts // multiprocessors)
        return rounds * (-(-steps // parts) * TILES[name].step_ns + (_EXCHANGE_NS if parts > 1 else 0))

    return min(TILES, key=time)


def launch(
    program: CudaProgram,
    name: str,
    x: torch.Tensor,
    w: torch.Tensor,
    labels: torch.Tensor,
    joins_by_block: bool = False,
) -> torch.Tensor:
    """The losses with the kernel of this name, whatever its fitness: one of LOOSE reads rows as they lie.

    A block instead of a warp joins the pieces of a row where ``joins_by_block``.
    """
    (rows, hidden), vocab = x.shape, w.shape[0]
    loss = torch.empty(rows, dtype=x.dtype, device=x.device)
    if not rows:
        return loss
    is_loose, parts = name in LOOSE, PARTS.get(name, 1)
    tile = LOOSE[name] if is_loose else TILES[name]
    tiles = tile.count(rows, vocab)
    blocks = tiles * parts if parts > 1 else tile.blocks(tiles, program.multiprocessor_count)
    columns = -(-vocab // tile.columns) * parts
    pieces = torch.empty((rows, columns, 2), dtype=torch.float32, device=x.device)
    at_label = torch.empty(rows, dtype=torch.float32, device=x.device)
    program.launch(
        *(name, blocks, tile.threads),
        *(as_they_lie(x, w) if is_loose else _maps(program, TILES[name], x, w)),
        *(labels, pieces, at_label, rows, vocab, hidden),
        shared_bytes=tile.shared_bytes + 8,  # a barrier more
        overlaps=True,
    )
    if joins_by_block:
        arguments = (pieces, at_label, labels, loss, columns, vocab)
        program.launch("join_by_block", rows, _THREADS, *arguments, overlaps=True)
    else:
        arguments = (pieces, at_label, labels, loss, rows, columns, vocab)
        program.launch("join", -(-rows * 32 // _THREADS), _THREADS, *arguments, overlaps=True)
    return loss


def _maps(program: CudaProgram, tile: Tile, x: torch.Tensor, w: torch.Tensor) -> tuple[Argument, Argument]:
    x, w = both_in_whole_units(program, x, w)
    return tensor_map(x, (tile.rows, _STEP)), tensor_map(w, (tile.b_rows, _STEP))
