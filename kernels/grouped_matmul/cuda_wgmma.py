"""Launcher of cuda_wgmma.cu: the products of experts on the tensor cores by TMA and wgmma."""

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.grouped_matmul import one_turn
from roofscope.kernels.grouped_matmul.runs import TILES, best
from roofscope.kernels.shared.whole_rows import both_in_whole_units, is_whole

DOMAIN = "tokens < 2**30 and experts * n < 2**30 and k < 2**30"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

# As in few_tokens.cuh, the last one elements along k that a block takes at once.
_FEW_ROWS, _FEW_TOKENS, _FEW_THREADS, _FEW_TURN = 16, 8, 256, 1024
_FEW_BLOCKS = 2  # of a multiprocessor
_MOST_RUNS = 2**16 - 1  # blocks beside each other
_BUSY = 0.75  # of a block's warps, where blocks take turns: fewer read less than memory gives
_SECTOR = 16  # elements that memory gives at least
_MANY_TURNS = 4  # of a block, beside which it does not count where rows begin
# Of rows that begin anywhere, fitted to 88 products on an H200: a round of blocks takes so long, and for each
# of its turns; tiles so long, for each element along k, for each 16 bytes of any matrix, and of a copied one.
_ROUND_NS, _TURN_NS = 3300, 2800
_TILES_NS, _K_NS, _ANY_NS, _COPY_NS = 5000, 1.0, 0.0048, 0.0076
_SURELY = 0.85  # times the time of tiles
_SHORT = 512  # of k, which leaves a block half idle: then a copy has to be much more than what is read
_STEP = 64  # elements of k in a stage
_MANY = 4  # tokens an expert, with which hardly one has none


def run(program: CudaProgram, x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Rows of ``x``, (tokens, k), each times its expert's matrix of ``w``, (experts, n, k), transposed.

    Rows from the last of ``offsets`` on are not written. Raises Refusal where wgmma is missing, in float32
    and beyond 32-bit sizes.
    """
    key = "grouped_matmul/cuda_wgmma"
    if x.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    needs_hopper(key, x.device)
    (tokens, k), (experts, n) = x.shape, w.shape[:2]
    if max(tokens, experts * n, k) >= 2**30:
        raise Refusal(f"{key} counts rows and columns in 32 bits; these sizes are larger.")
    if not tokens * n:
        return x.new_empty(tokens, n)
    sizes = (tokens, experts, n, k, program.multiprocessor_count, not (is_whole(x) and is_whole(w)))
    way = one_turn.way_of(*sizes)
    if way and experts <= _MOST_RUNS:
        if way.time_ns < best(*sizes)[1]:
            return one_turn.launch(program, way, x, w, offsets)
    elif suits_few_tokens(x, w, program.multiprocessor_count):
        return launch_few_tokens(program, x, w, offsets)
    return launch(program, choose(*sizes), x, w, offsets)


def suits_few_tokens(x: torch.Tensor, w: torch.Tensor, multiprocessors: int) -> bool:
    """Whether matrices are read as they lie: where most runs are one pass over them.

    Tiles read rows of whole 16 bytes as fast where there are many, if k leaves warps of a block without work,
    one of two turns is cut off, or rows begin amid sectors. They take one run of all tokens much faster, and
    nobody on the host knows that there is none: of such rows it would be two passes at most, while the others
    want a copy.
    """
    (tokens, k), (experts, n) = x.shape, w.shape[:2]
    runs = min(experts, tokens)
    if tokens > experts * _FEW_TOKENS or runs > _MOST_RUNS:
        return False
    if not (is_whole(x) and is_whole(w)):
        return _beats_copies(tokens, experts, n, k, multiprocessors)
    if tokens > min(experts * _FEW_TOKENS // 2, 2 * _FEW_TOKENS):
        return False
    turns = -(-k // _FEW_TURN)
    is_one_round = -(-n // _FEW_ROWS) * runs <= _FEW_BLOCKS * multiprocessors
    if is_one_round or turns >= _MANY_TURNS or k == turns * _FEW_TURN:
        return True
    return turns != 2 and k % _SECTOR == 0 and k >= _BUSY * turns * _FEW_TURN


def _beats_copies(tokens: int, experts: int, n: int, k: int, multiprocessors: int) -> bool:
    """Whether matrices as they lie take less time than tiles with the copies that these want.

    The copy looks at every matrix, and so takes long where few experts have a token.
    """
    if k < _SHORT and tokens * _FEW_TOKENS > experts:
        return False
    runs = experts * (1 - (1 - 1 / experts) ** tokens)  # with a token, if each goes anywhere
    rounds = max(-(-n // _FEW_ROWS) * runs / (_FEW_BLOCKS * multiprocessors), 1.0)
    words = n * -(-k // 8)  # of a matrix
    tiles_ns = _TILES_NS + k * _K_NS + words * (experts * _ANY_NS + runs * _COPY_NS)
    return rounds * (_ROUND_NS + -(-k // _FEW_TURN) * _TURN_NS) < _SURELY * tiles_ns


def choose(tokens: int, experts: int, n: int, k: int, multiprocessors: int, is_loose: bool = False) -> str:
    """The tile that takes least time."""
    return best(tokens, experts, n, k, multiprocessors, is_loose)[0]


def launch_few_tokens(
    program: CudaProgram, x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    """Multiply without tiles of wgmma: each run by itself, eight tokens at once."""
    (tokens, k), (experts, n) = x.shape, w.shape[:2]
    c = torch.empty((tokens, n), dtype=x.dtype, device=x.device)
    program.launch(
        "few_tokens_words" if is_whole(x) and is_whole(w) else "few_tokens_loose",
        (-(-n // _FEW_ROWS), min(experts, tokens)),
        _FEW_THREADS,
        *(x, w, c, offsets, tokens, experts, n, k),
        overlaps=True,
    )
    return c


def launch(
    program: CudaProgram, name: str, x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness."""
    tile, (tokens, k), (experts, n) = TILES[name], x.shape, w.shape[:2]
    c = torch.empty((tokens, n), dtype=x.dtype, device=x.device)
    # Of few tokens most experts have none, and their matrices need no copy.
    of_runs = ("whole_rows_of_runs", offsets, tokens, n) if tokens < _MANY * experts else ()
    x, w = both_in_whole_units(program, x, w.flatten(0, 1), *of_runs)
    # Rows of C that are not of whole 16 bytes are stored by threads, and the map of C is that of x.
    is_loose = n * c.element_size() % 16 != 0
    of_x = tensor_map(x, (tile.rows, _STEP))
    program.launch(
        *(name, tile.blocks(tile.most(tokens, experts, n), program.multiprocessor_count), tile.threads),
        *(of_x, tensor_map(w, (tile.b_rows, _STEP)), of_x if is_loose else tensor_map(c, (64, 64))),
        *(c, offsets, tokens, experts, n, k, int(is_loose)),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return c
