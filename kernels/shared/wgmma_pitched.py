"""Products of an odd number of columns into rows that begin at multiples of 16 bytes, which are wider.

The tensor memory accelerator stores only such rows. What the caller gets is a view of them, the first n
columns, as torch.compile gives it too. Where sums are short, C takes as long to store as to compute.
"""

import torch

from roofscope import Argument, CudaProgram, Refusal, needs_hopper
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.wgmma_matmul import launch, sizes_of
from roofscope.kernels.shared.wgmma_plans import TILES
from roofscope.kernels.shared.whole_rows import pitch

# As in wgmma_kernels.cuh.
PITCHED = (
    "tile_128x256",
    "tile_128x192_2x1",
    "tile_128x128_2x1",
    "across_192x192_pair",
    "across_176x192_above",
    "across_144x192_2x1",
    "across_112x192_2x1",
    "across_96x192_above",
    "across_160x128_2x2",
    "across_96x128_4x2",
)


def multiply_pitched(
    program: CudaProgram, key: str, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, *extra: Argument
) -> torch.Tensor:
    """C (m x n) of a dtype from A (m x k) and B (k x n) in 16 bits: a view of wider rows.

    Raises Refusal under the name ``key`` where wgmma is missing, where rows of C are of whole 16 bytes, and
    beyond 32-bit sizes.
    """
    needs_hopper(key, a.device)
    m, n = a.shape[0], b.shape[1]
    require_32_bit_product(key, m, n, a.shape[1])
    columns = pitch(n * dtype.itemsize, m) // dtype.itemsize
    if columns == n:
        raise Refusal(f"{key} is for rows of C that are no whole 16 bytes; cuda_wgmma stores the others.")
    sizes = sizes_of(program, a, b, dtype)._replace(n=columns)
    # No tile more than of n columns: a wider row ends on the next line, and tiles are of whole lines.
    plans = [(name, plan) for name in PITCHED for plan in TILES[name].plans(*sizes)]
    name, plan = min(plans, key=lambda item: item[1].time_ns)
    return launch(program, name, a, b, dtype, *extra, plan=plan, c_columns=columns)
