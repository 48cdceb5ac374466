"""The order of the rotary embedding's blocks, and that they reach every position of every head."""

import itertools
from typing import Any

import pytest
import torch

from roofscope.profiling.planning.catalog import load_module
from roofscope.tests.kernels.cases import CATALOG


class Program:
    """In the place of a CudaProgram: notes what is launched."""

    def __init__(self) -> None:
        self.launched: list[tuple[Any, ...]] = []

    def launch(self, name: str, grid: int, block: Any, *arguments: Any, overlaps: bool) -> None:
        assert overlaps
        self.launched.append((name, grid, block, arguments))


def launched(batch: int, heads: int, seq: int, half: int) -> tuple[Any, ...]:
    found = CATALOG.kernel("rope")
    assert found is not None
    program = Program()
    x, cos, sin = (
        torch.empty(shape, dtype=torch.bfloat16, device="meta")
        for shape in ((batch, heads, seq, 2 * half), (seq, half), (seq, half))
    )
    load_module(found.folder / "cuda_packed.py").run(program, x, cos, sin)
    (launch,) = program.launched
    return launch


@pytest.mark.parametrize(
    ("shape", "heads_first"),
    [
        ((2, 3, 152_367, 32), True),
        ((1, 2, 57_445, 128), True),
        ((1, 32, 65_536, 64), True),
        ((4, 32, 4096, 64), False),
        ((5, 22, 1298, 64), False),
    ],
)
def test_long_tables_are_read_by_all_heads_at_once(
    shape: tuple[int, int, int, int], heads_first: bool
) -> None:
    """L2 has lost them by the next head; short ones stay there."""
    batch, heads, seq, half = shape
    name, grid, (_, height), arguments = launched(*shape)
    blocks = -(-seq // height)
    assert (name, grid) == ("rope_packs", batch * heads * blocks)
    assert arguments[4:] == (seq, half, batch * heads if heads_first else blocks, heads_first)


@pytest.mark.parametrize("shape", [(2, 3, 37, 8), (1, 5, 40_000, 16), (3, 2, 5, 2056), (2, 2, 20_001, 32)])
def test_blocks_reach_all_positions_of_all_heads(shape: tuple[int, int, int, int]) -> None:
    batch, heads, seq, _ = shape
    _, grid, (_, height), (*_, run, heads_first) = launched(*shape)
    places = {divmod(block, run)[:: 1 if not heads_first else -1] for block in range(grid)}
    assert places == set(itertools.product(range(batch * heads), range(-(-seq // height))))
