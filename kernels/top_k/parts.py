"""How many parts of a row blocks take, and the launches of versions that select so."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.top_k.eager import K

PACK_BYTES = 16


def outputs_of(key: str, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Room for the K largest of each row of ``x`` and their columns. Raises Refusal beyond 32-bit columns."""
    rows, cols = x.shape
    if cols >= 2**31:
        raise Refusal(f"{key} counts columns in 32 bits, and {cols} are more.")
    value = torch.empty((rows, K), dtype=x.dtype, device=x.device)
    return value, torch.empty((rows, K), dtype=torch.int64, device=x.device)


def split(x: torch.Tensor, piece: int, wanted: int) -> tuple[int, int]:
    """Parts of a row, about as many as ``wanted``, and packs of each: whole pieces of ``piece`` packs."""
    packs = x.shape[1] * x.element_size() // PACK_BYTES
    pieces = -(-packs // piece)
    each = -(-pieces // max(wanted, 1))
    return -(-pieces // max(each, 1)), each * piece


def launch_parts(
    program: CudaProgram,
    x: torch.Tensor,
    value: torch.Tensor,
    index: torch.Tensor,
    threads: int,
    parts: int,
    length: int,
) -> None:
    """A block a part of ``length`` packs, and then a block a row, which joins them."""
    rows, cols = x.shape
    keys = torch.empty((rows, parts, K), dtype=torch.int64, device=x.device)
    program.launch("top_k_parts", rows * parts, threads, x, keys, cols, parts, length)
    program.launch("top_k_join", rows, threads, x, keys, value, index, cols, parts, overlaps=True)
