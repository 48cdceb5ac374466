"""Products of little C, straight from memory: which kernel reads what, and how it is launched."""

from typing import Any

import pytest
import torch

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared.direct_sums import direct_ns, multiply_direct_sums

MULTIPROCESSORS = 132


class Recorder:
    """Stands for a CudaProgram; keeps what is launched."""

    def __init__(self) -> None:
        self.launches: list[tuple[str, Any, int]] = []

    def launch(self, name: str, grid: Any, threads: int, *_: torch.Tensor | int, overlaps: bool) -> None:
        assert overlaps
        self.launches.append((name, grid, threads))


def matrix(rows: int, columns: int, offset: int = 0) -> torch.Tensor:
    return torch.empty(rows * columns + offset, dtype=torch.bfloat16)[offset:].view(rows, columns)


@pytest.mark.parametrize(
    ("n", "k", "offset_a", "offset_b", "read"),
    [
        (782, 82, 0, 0, "pairs_pairs"),
        (782, 82, 2, 6, "pairs_pairs"),
        (782, 82, 1, 0, "ones_pairs"),
        (782, 82, 0, 1, "pairs_ones"),
        (782, 81, 0, 0, "ones_pairs"),
        (781, 82, 0, 0, "pairs_ones"),
        (781, 81, 0, 0, "ones_ones"),
    ],
)
def test_elements_are_read_by_pairs_where_rows_begin_on_words(
    n: int, k: int, offset_a: int, offset_b: int, read: str
) -> None:
    recorder: Any = Recorder()
    a, b = matrix(272, k, offset_a), matrix(k, n, offset_b)
    assert multiply_direct_sums(recorder, a, b, torch.bfloat16).shape == (272, n)
    assert recorder.launches == [(f"direct_sums_{read}", (9, 25), 128)]


def time_ns(m: int, n: int, k: int) -> float | None:
    return direct_ns(matrix(m, k), matrix(k, n), MULTIPROCESSORS)


def test_time_is_known_of_short_sums_alone() -> None:
    few, more, odd = time_ns(100, 100, 60), time_ns(1000, 1000, 60), time_ns(1000, 999, 59)
    assert few is not None
    assert more is not None
    assert odd is not None
    assert few < more < odd
    assert time_ns(100, 100, 256) is not None
    assert time_ns(100, 100, 257) is None
    assert time_ns(1, 2**21, 8) is None  # blocks beside each other
