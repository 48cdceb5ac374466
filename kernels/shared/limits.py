"""Up to what sizes a kernel's 32-bit counts are right, and what is said beyond them.

Rows are found by 64 bits everywhere. Columns, within a row, go by 32 bits where 64 would take registers and
instructions from every size that is in use.
"""

import torch

from roofscope import Refusal

MOST_BLOCKS = 2**31 - 1  # of a grid along x
MOST_BLOCKS_ALONG_Y = 65535
MOST_COLUMNS = 2**31 - 2**20  # with room for a tile that begins at the last one
MOST_IN_TILE = 2**20  # elements of a tensor in Triton
MOST_SUMMED_IN_TILE = 2**15  # where sums stay in registers beside it: more takes ptxas minutes, and spills
_HOPPER_SHARED_BYTES = 227 * 1024


def shared_limit(device: torch.device) -> int:
    """Bytes of shared memory that a block may ask for; Hopper's where there is no device."""
    if device.type != "cuda":
        return _HOPPER_SHARED_BYTES
    return torch.cuda.get_device_properties(device).shared_memory_per_block_optin


def require_32_bit_sizes(key: str, rows: int, cols: int) -> None:
    """Raises Refusal under the name ``key`` where 32 bits do not count the rows or the columns of a row."""
    if rows > MOST_BLOCKS or cols > MOST_COLUMNS:
        raise Refusal(
            f"{key} counts in 32 bits: {MOST_BLOCKS} rows and {MOST_COLUMNS} columns at most, "
            f"not {rows} x {cols}."
        )


def require_row_in_tile(key: str, cols: int, most: int = MOST_IN_TILE) -> None:
    """Raises Refusal under the name ``key`` where a row is longer than a tile of ``most`` elements."""
    if cols > most:
        raise Refusal(f"{key} holds a row in one tile, of {most} columns at most, not {cols}.")


def require_32_bit_product(key: str, m: int, n: int, k: int) -> None:
    """Raises Refusal under the name ``key`` where 32 bits do not count a row, a column or a tile beyond."""
    if max(m, n, k) >= 2**31 - 2**12:
        raise Refusal(f"{key} counts rows and columns in 32 bits; these sizes are larger.")
