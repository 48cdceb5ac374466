"""Products in 16 bits from rows that begin anywhere: which there are, and how they are launched."""

from typing import Any

import pytest
import torch

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared.loose_rows import (
    faster_than_tiles,
    few_rows_cluster,
    multiply_few_rows,
    multiply_short_rows,
)

MULTIPROCESSORS = 132


class Recorder:
    """Stands for a CudaProgram; keeps what is launched."""

    multiprocessor_count = MULTIPROCESSORS

    def __init__(self) -> None:
        self.launches: list[tuple[str, Any, list[int], dict[str, int]]] = []

    def launch(self, name: str, grid: Any, _: int, *arguments: torch.Tensor | int, **given: int) -> None:
        assert given.pop("overlaps")
        self.launches.append((name, grid, [value for value in arguments if isinstance(value, int)], given))


def matrices(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty(m, k, dtype=torch.bfloat16), torch.empty(k, n, dtype=torch.bfloat16)


@pytest.mark.parametrize(
    ("m", "n", "rows", "width"), [(1, 1024, 8, 64), (8, 1023, 8, 56), (9, 70, 16, 56), (32, 64, 32, 64)]
)
def test_few_rows_are_put_in_order_and_multiplied(m: int, n: int, rows: int, width: int) -> None:
    """By 8 rows a lane group; 64 columns a block where all rows of B begin on 16 bytes, and else 56."""
    recorder: Any = Recorder()
    a, b = matrices(m, n, 600)
    result = multiply_few_rows(recorder, a, b, torch.bfloat16, cluster=2)
    assert result.shape == (m, n)
    order, product = recorder.launches
    assert order == ("ordered_rows", 3 * rows // 8, [m, 600, rows // 8], {})  # steps of 256 of k
    assert product == (f"few_rows_{rows}", -(-n // width) * 2, [m, n, 600, width], {"cluster": 2})


@pytest.mark.parametrize(
    ("n", "k", "expected"), [(65536, 8192, 1), (8192, 8192, 4), (4096, 16384, 8), (64, 1024, 2), (64, 100, 1)]
)
def test_as_many_blocks_share_k_as_fill_the_gpu(n: int, k: int, expected: int) -> None:
    assert few_rows_cluster(n, k, MULTIPROCESSORS) == expected


@pytest.mark.parametrize("k", [1, 32])
def test_short_rows_take_blocks_that_fit_hopper(k: int) -> None:
    recorder: Any = Recorder()
    multiply_short_rows(recorder, *matrices(5000, 131, k), torch.bfloat16)
    ((name, (blocks, columns), _, given),) = recorder.launches
    assert (name, columns) == ("short_rows_32", 3)
    assert 0 < blocks * columns <= 2 * MULTIPROCESSORS
    assert given["shared_bytes"] <= 227 * 1024 // 2


def test_rows_are_taken_as_they_lie_where_that_is_faster() -> None:
    """Few of them, or short ones that are not of whole 16 bytes; never against tiles that take no time."""
    assert faster_than_tiles(*matrices(4, 25001, 4280), 1e6) is multiply_few_rows
    assert faster_than_tiles(*matrices(3000, 401, 21), 1e6) is multiply_short_rows
    assert faster_than_tiles(*matrices(3000, 4000, 24), 1e6) is None
    assert faster_than_tiles(*matrices(3000, 4001, 33), 1e6) is None
    assert faster_than_tiles(*matrices(4, 25000, 4280), 0) is None
