"""How the gradients of the norms of many short rows are launched: norm_lanes.cuh."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.rows import PACK_BYTES, are_packed

WARP = 32
THREADS = 256  # as in norm_lanes.cuh
BLOCKS_PER_MULTIPROCESSOR = 2  # of 128 registers a thread


def launch_lanes(
    program: CudaProgram,
    name: str,
    inputs: tuple[torch.Tensor, ...],
    dx: torch.Tensor,
    *column_sums: torch.Tensor,
) -> None:
    """Launch ``<name>_packed_8`` or another, by lanes of a row, then ``_columns``.

    ``inputs`` are dy, x, w and what each row has. Raises Refusal where a warp does not hold a row.
    """
    dy, x, *_ = inputs
    rows, cols = x.shape
    if len({tensor.data_ptr() % PACK_BYTES for tensor in (dy, x, dx)}) > 1:
        raise Refusal(
            f"{name}/cuda_lanes takes rows of dy and x that begin alike, within {PACK_BYTES} bytes."
        )
    pack = PACK_BYTES // x.element_size()
    packed = are_packed(cols, dy, x, dx)
    packs = -(-(cols if packed else cols + pack - 1) // pack)
    if packs > WARP:
        raise Refusal(
            f"{name}/cuda_lanes has a pack of {PACK_BYTES} bytes a lane: {WARP} packs at most, not {packs}."
        )
    lanes = 1 << (packs - 1).bit_length()
    kind = "packed" if packed else "skewed"
    blocks = min(BLOCKS_PER_MULTIPROCESSOR * program.multiprocessor_count, -(-rows * lanes // THREADS))
    blocks = max(blocks, 1)
    partial = torch.empty((len(column_sums), blocks, cols), dtype=torch.float32, device=x.device)
    program.launch(f"{name}_{kind}_{lanes}", blocks, THREADS, *inputs, dx, partial, rows, cols)
    grid = (-(-cols // WARP), len(column_sums))
    arguments = (partial, *column_sums, blocks, cols)
    program.launch(f"{name}_columns", grid, (WARP, WARP), *arguments, overlaps=True)
