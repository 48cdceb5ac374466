"""How the gradients of the norms of many short rows are launched: norm_lanes.cuh, norm_skewed.cuh."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.rows import PACK_BYTES, access_bytes, are_packed

WARP = 32
THREADS = 256  # as in norm_lanes.cuh, and as in norm_skewed.cuh, or those of a row group
MOST_GROUP = 512  # threads of a row
LEAST_ACCESS = 4  # bytes on which all rows begin whose lanes need not begin earlier
BLOCKS_PER_MULTIPROCESSOR = 2  # of 128 registers a thread


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
    lanes = 1 << (packs - 1).bit_length()
    kind = "packed" if packed else f"by_{access}" if narrow else "skewed"
    threads = max(THREADS, lanes)
    most = BLOCKS_PER_MULTIPROCESSOR * program.multiprocessor_count * THREADS // threads
    blocks = max(min(most, -(-rows * lanes // threads)), 1)
    if lanes > WARP:
        blocks = -(-blocks // pack) * pack  # each of which has rows that begin alike
    partial = torch.empty((len(column_sums), blocks, cols), dtype=torch.float32, device=x.device)
    arguments = (*inputs, dx, partial, rows, cols)
    program.launch(f"{name}_{kind}_{lanes}", blocks, threads, *arguments, overlaps=True)
    grid = (-(-cols // WARP), len(column_sums))
    arguments = (partial, *column_sums, blocks, cols)
    program.launch(f"{name}_columns", grid, (WARP, WARP), *arguments, overlaps=True)
