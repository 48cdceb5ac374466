"""Products in 16 bits from rows that begin anywhere: which there are, and how they are launched."""

import functools
from typing import Any

import pytest
import torch

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared.direct_sums import multiply_direct_sums
from roofscope.kernels.shared.loose_rows import (
    faster_than_tiles,
    few_rows_cluster,
    multiply_few_rows,
)
from roofscope.kernels.shared.loose_tiles import multiply_long_sums, multiply_short_sums
from roofscope.kernels.shared.one_row import multiply_one_row, one_row_choice, width_of
from roofscope.kernels.shared.wgmma_classes import multiply_classes
from roofscope.kernels.shared.wgmma_plans import best

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
    assert product == (f"few_rows_{rows}", (-(-n // width) * 2, 1), [m, n, 600, width], {"cluster": 2})


@pytest.mark.parametrize(
    ("n", "k", "expected"),
    [(65536, 8192, 1), (12836, 11771, 1), (16338, 12459, 4), (4096, 16384, 4), (64, 1024, 2), (64, 100, 1)],
)
def test_blocks_share_k_where_a_last_round_would_be_nearly_empty(n: int, k: int, expected: int) -> None:
    """Or where one round does not take all of memory's bandwidth, and where there are steps to share."""
    assert few_rows_cluster(8, n, k, 64 if n % 8 == 0 else 56, MULTIPROCESSORS) == expected


def test_rows_are_taken_as_they_lie_where_that_is_faster() -> None:
    """Few, short ones, or long ones of little C; not of much C, where they are whole, nor against no time."""
    assert chosen(489, 74, 50) is multiply_direct_sums
    assert chosen(4, 25001, 4280) is multiply_few_rows
    assert chosen(1, 25001, 4280) is multiply_one_row
    assert chosen(1, 31528, 11952) is multiply_one_row
    assert chosen(3000, 401, 21) is multiply_short_sums
    assert chosen(7521, 2669, 91) is None  # a copy of A and B is little beside C
    assert chosen(408, 33, 431) is multiply_long_sums
    assert chosen(7399, 62, 10430) is multiply_classes  # a copy of A takes twice the time of reading it
    assert chosen(78, 44, 2982) is None  # tiles that eight blocks share take less, and the copy with them
    assert chosen(3000, 4000, 24) is None
    assert chosen(4001, 4001, 4001) is None
    assert chosen(4, 25000, 4280, tiles_ns=0) is None
    # Sizes at which tiles behind a copy were measured the fastest.
    for sizes in ((112, 241, 783), (409, 16, 1198), (981, 41, 295), (25, 29, 2594), (56, 3447, 173)):
        assert chosen(*sizes) is None, sizes


def chosen(m: int, n: int, k: int, tiles_ns: float | None = None) -> Any:
    steps = -(-k // 64)
    time_ns = best(m, n, steps, MULTIPROCESSORS)[1].time_ns if tiles_ns is None else tiles_ns
    product = faster_than_tiles(*matrices(m, n, k), time_ns, MULTIPROCESSORS)
    return product.func if isinstance(product, functools.partial) else product


@pytest.mark.parametrize(
    ("n", "k", "expected"),
    [
        (58142, 5697, 1),
        (31528, 11952, 2),
        (9016, 11937, 4),
        (8240, 10731, 4),
        (5120, 4096, 8),
        (4500, 60000, 8),
    ],
)
def test_blocks_share_the_k_of_one_row_as_was_measured_the_fastest(n: int, k: int, expected: int) -> None:
    """Clusters of eight find no room for all of 33 of them at once, so there four are faster."""
    width = 256 if n % 8 == 0 else 248
    assert one_row_choice(n, k, width, MULTIPROCESSORS)[1] == expected


@pytest.mark.parametrize("cluster", [1, 2, 4, 8])
def test_blocks_of_one_row_cover_all_columns(cluster: int) -> None:
    for n in (1, 248, 249, 256, 257, 31528):
        a, b = matrices(1, n, 70)
        program = Recorder()
        multiply_one_row(program, a, b, torch.bfloat16, cluster=cluster)  # type: ignore[arg-type]
        [(name, grid, sizes, given)] = program.launches
        assert name == "one_row"
        assert sizes == [n, 70, width_of(b)]
        assert given == {"cluster": cluster}
        assert (grid // cluster - 1) * width_of(b) < n <= grid // cluster * width_of(b)
