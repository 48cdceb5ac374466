"""Which kernel of columns.cuh takes rows of some hundred columns, a warp some of them."""

from collections.abc import Mapping
from dataclasses import dataclass

WARP = 32
WARPS = 4  # of a block
_FEWER_ROWS = 2**13


@dataclass(frozen=True)
class Columns:
    """Rows of a warp by elements of a lane; where rows are fewer, fewer of them, for more warps."""

    rows_of_each: Mapping[int, int]
    fewer_of_each: Mapping[int, int]

    def kernel(self, name: str, rows: int, cols: int) -> tuple[str, int] | None:
        """``<name>_columns_<elements>_<rows>`` and its blocks; None where no lane has so many elements."""
        each = next((each for each in self.rows_of_each if cols <= each * WARP), None)
        if each is None:
            return None
        together = (self.fewer_of_each if rows <= _FEWER_ROWS else self.rows_of_each)[each]
        return f"{name}_columns_{each}_{together}", -(-rows // (together * WARPS))
