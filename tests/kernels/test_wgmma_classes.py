"""Products of a tall A of odd rows as it lies: its rows by classes, the maps, and when that is chosen."""

import functools
from typing import Any

import pytest
import torch

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared import wgmma_classes
from roofscope.kernels.shared.loose_rows import faster_than_tiles
from roofscope.kernels.shared.wgmma_classes import TILES, classes_of, multiply_classes, tiles
from roofscope.kernels.shared.wgmma_plans import best

MULTIPROCESSORS = 132
STEP, ROWS = 64, 128


class Recorder:
    """Stands for a CudaProgram; keeps what is launched."""

    multiprocessor_count = MULTIPROCESSORS

    def __init__(self) -> None:
        self.launches: list[tuple[str, int, tuple[Any, ...], dict[str, int]]] = []

    def launch(self, name: str, grid: int, _: int, *arguments: Any, **given: int) -> None:
        assert given.pop("overlaps")
        self.launches.append((name, grid, arguments, given))


def itself(matrix: torch.Tensor, _: tuple[int, ...]) -> torch.Tensor:
    return matrix


def box(matrix: torch.Tensor, row: int, column: int, rows: int, columns: int) -> torch.Tensor:
    """As the tensor memory accelerator gives it: zeros outside, from whole 16 bytes on."""
    assert column % 8 == 0
    assert matrix.stride(0) % 8 == 0
    found = torch.zeros(rows, columns, dtype=matrix.dtype)
    high_row, high_column = min(row + rows, matrix.shape[0]), min(column + columns, matrix.shape[1])
    low_row, low_column = max(row, 0), max(column, 0)
    if low_row < high_row and low_column < high_column:
        inside = matrix[low_row:high_row, low_column:high_column]
        found[low_row - row : high_row - row, low_column - column : high_column - column] = inside
    return found


@pytest.mark.parametrize("k", [*range(57, 64), 65, 130, 196, 3])
@pytest.mark.parametrize("m", [8, 9, 15, 1024, 1031])
def test_boxes_of_classes_make_the_product(k: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As wgmma_classes.cuh takes them: each row of C from one tile, neighbours of its row of A cleared."""
    monkeypatch.setattr(wgmma_classes, "tensor_map", itself)
    recorder: Any = Recorder()
    a, b = torch.randint(-4, 5, (m, k)).to(torch.bfloat16), torch.randint(-4, 5, (k, 8)).to(torch.bfloat16)
    result = multiply_classes(recorder, a, b, torch.bfloat16, cluster=2)
    ((_, grid, (shorter, longer, of_b, c, *sizes), given),) = recorder.launches
    classes = classes_of(k)
    assert given["cluster"] == 2
    assert sizes == [m, 8, k, classes]
    assert c is result
    made = torch.full((m, 8), torch.nan)
    for tile in range(grid // 2):
        number, row = tile % classes, tile // classes * ROWS
        of_class = longer if number < m % classes else shorter
        rows = min(m // classes + (number < m % classes) - row, ROWS)
        if rows <= 0:
            continue
        shift = number * k % 8
        sums = torch.zeros(ROWS, 8)
        for step in range(-(-(k + shift) // STEP)):
            part = box(of_class, row, number * k - shift + step * STEP, ROWS, STEP).float()
            part[:, : shift if step == 0 else 0] = 0
            part[:, max(k + shift - step * STEP, 0) :] = 0
            sums += part @ box(of_b, step * STEP - shift, 0, STEP, 8).float()
        of_c = made[number::classes][row : row + rows]
        assert of_c.isnan().all()
        of_c.copy_(sums[:rows])
    assert torch.equal(made, a.float() @ b.float())


def test_each_tile_fits_into_shared_memory_as_often_as_it_says() -> None:
    for tile in TILES:
        assert (tile.shared_bytes + 1024) * tile.together <= 228 * 1024


def test_a_tall_matrix_of_odd_rows_is_taken_as_it_lies() -> None:
    """Large beside B and C, and of odd rows: a copy of others is no matter, or none."""
    assert chosen(7773, 26, 5562) is multiply_classes
    assert chosen(7399, 62, 10430) is multiply_classes
    assert chosen(7773, 26, 5560) is None
    assert chosen(7773, 2600, 5562) is not multiply_classes
    assert chosen(300, 26, 562) is not multiply_classes


def test_classes_have_tiles_of_their_own() -> None:
    assert [classes_of(k) for k in (1, 2, 4, 6, 8, 12, 20)] == [8, 4, 2, 4, 1, 2, 2]
    assert tiles(1024, 1) == 8
    assert tiles(1025, 1) == 16
    assert tiles(7773, 5562) == 4 * 16


@pytest.mark.parametrize(
    ("m", "n", "k", "cluster"),
    [
        (1000, 40, 14003, 8),  # few tiles and many steps
        (2351, 117, 13014, 8),
        (4498, 39, 9267, 4),
        (4516, 50, 3829, 4),
        (1859, 150, 5530, 4),  # where eight would need a second round
        (7773, 26, 5562, 2),
        (4100, 130, 9001, 2),
        (16000, 250, 3001, 1),  # as many tiles as multiprocessors
        (11666, 16, 853, 1),
    ],
)
def test_clusters_are_those_that_measured_the_fastest(m: int, n: int, k: int, cluster: int) -> None:
    product = product_of(m, n, k)
    assert isinstance(product, functools.partial)
    assert product.func is multiply_classes
    assert product.keywords == {"cluster": cluster}


@pytest.mark.parametrize(
    "sizes", [(3870, 172, 1909), (6656, 134, 1274), (2464, 217, 2549), (500, 30, 15999), (1857, 66, 1161)]
)
def test_tiles_behind_a_copy_stay_where_they_measured_faster(sizes: tuple[int, int, int]) -> None:
    """Classes of many columns take few stages of large steps, and a small A is copied within L2."""
    assert chosen(*sizes) is None


def product_of(m: int, n: int, k: int) -> Any:
    a, b = torch.empty(m, k, dtype=torch.bfloat16), torch.empty(k, n, dtype=torch.bfloat16)
    time_ns = best(m, n, -(-k // STEP), MULTIPROCESSORS)[1].time_ns
    return faster_than_tiles(a, b, time_ns, MULTIPROCESSORS)


def chosen(m: int, n: int, k: int) -> Any:
    product = product_of(m, n, k)
    return product.func if isinstance(product, functools.partial) else product
