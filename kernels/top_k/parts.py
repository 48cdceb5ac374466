"""How many parts of a row blocks take, and the launches of versions that select so."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.top_k.eager import K

PACK_BYTES = 16


def launch_parts(
    program: CudaProgram, name: str, x: torch.Tensor, threads: int, piece: int, most_parts: int, blocks: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row of ``x``, (rows, cols) and contiguous, and their columns, (rows, K) each.

    A block takes a row, or, where rows are few, a part of ``piece`` packs or more; of these a row has
    ``most_parts`` at most. So many ``blocks`` run on a multiprocessor at once.
    """
    rows, cols = x.shape
    if cols >= 2**31:
        raise Refusal(f"{name} counts columns in 32 bits, and {cols} are more.")
    value = torch.empty((rows, K), dtype=x.dtype, device=x.device)
    index = torch.empty((rows, K), dtype=torch.int64, device=x.device)
    packs = cols * x.element_size() // PACK_BYTES
    wanted = program.multiprocessor_count * blocks // max(rows, 1)
    pieces = -(-packs // piece)
    each = -(-pieces // max(min(wanted, most_parts), 1))  # pieces of a part
    parts = -(-pieces // max(each, 1))
    if parts < 2:
        program.launch("top_k_rows", rows, threads, x, value, index, cols)
        return value, index
    keys = torch.empty((rows, parts, K), dtype=torch.int64, device=x.device)
    program.launch("top_k_parts", rows * parts, threads, x, keys, cols, parts, each * piece)
    program.launch("top_k_join", rows, threads, x, keys, value, index, cols, parts, overlaps=True)
    return value, index
