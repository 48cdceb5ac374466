"""Products of few rows by strips of B: shares of their steps, the maps, and when that is chosen."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared import wgmma_few_rows, wgmma_strips
from roofscope.kernels.shared.loose_rows import faster_than_tiles
from roofscope.kernels.shared.wgmma_plans import TILES, TILES_OF_FEW_ROWS
from roofscope.kernels.shared.wgmma_plans import best as best_of_tiles
from roofscope.kernels.shared.wgmma_strips import CLUSTERS, STRIPS, Strips, multiply_strips
from roofscope.kernels.shared.whole_rows import pitch
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import strips_source
from roofscope.tests.kernels.test_wgmma import machine_code
from roofscope.tests.kernels.test_wgmma_classes import MULTIPROCESSORS, Recorder, box

STEP = 64
Runs = dict[int, list[tuple[int, int, int]]]


def runs_of(strips: Strips, cluster: int, n: int, steps: int, shares: int) -> Runs:
    """Strip, first and last step of each run, by place: as StripRuns of strip_shares.cuh."""
    each, bands = strips.bands, -(-n // 64)
    whole, rest = bands // (each * cluster), min(bands % (each * cluster), each)
    count = whole + (rest > 0)

    def begin_of(place: int) -> tuple[int, int]:
        if shares % count == 0:
            of_strip = shares // count
            return place // of_strip, steps * (place % of_strip) // of_strip
        together = (whole * each + rest) * steps
        at = together // shares * place + min(together % shares, place)
        strip = at // (each * steps)
        wide = each if strip < whole else rest if strip == whole else 0
        return strip, (at - strip * each * steps) // wide if wide else 0

    def of_place(place: int) -> Iterator[tuple[int, int, int]]:
        (strip, step), (end_strip, end_step) = begin_of(place), begin_of(place + 1)
        while strip < end_strip:
            yield strip, step, steps
            strip, step = strip + 1, 0
        if step < end_step:
            yield strip, step, end_step

    return {place: list(of_place(place)) for place in range(shares)}


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("strips", STRIPS)
@pytest.mark.parametrize(
    ("n", "k"), [(8, 8), (64, 4104), (2056, 1000), (4104, 2056), (4424, 9832), (60000, 72), (1000, 60000)]
)
def test_shares_are_equal_and_cover_each_step_once(strips: Strips, cluster: int, n: int, k: int) -> None:
    """None is empty, and each leaves the sums of one strip at most, which those in front of it want."""
    steps, shares = -(-k // STEP), strips.shares(cluster, n, k, MULTIPROCESSORS)
    assert shares * cluster <= MULTIPROCESSORS
    runs = runs_of(strips, cluster, n, steps, shares)
    covered = [
        (strip, step) for own in runs.values() for strip, low, high in own for step in range(low, high)
    ]
    count = -(-n // (strips.columns * cluster))
    assert covered == [(strip, step) for strip in range(count) for step in range(steps)]
    for own in runs.values():
        assert own
        assert all(low == 0 for _, low, _ in own[1:])
    most = strips.work(cluster, n, k) / strips.bands / shares
    for own in runs.values():
        # A strip of fewer bands counts less, though blocks beside each other go in step.
        steps_of_share = sum(high - low for _, low, high in own)
        assert steps_of_share <= strips.bands * (most + 2)


@pytest.mark.parametrize("cluster", [1, *CLUSTERS])
@pytest.mark.parametrize("strips", STRIPS)
@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize(("n", "k"), [(8, 200), (1088, 5832), (5832, 1088), (4424, 9832)])
def test_no_share_goes_on_in_another_strip(strips: Strips, cluster: int, each: int, n: int, k: int) -> None:
    """Where each strip has as many, the last one too, of fewer bands."""
    count, steps = -(-n // (strips.columns * cluster)), -(-k // STEP)
    runs = runs_of(strips, cluster, n, steps, count * each)
    assert [[strip for strip, _, _ in own] for own in runs.values()] == [
        [place // each] for place in range(count * each)
    ]


def test_maps_give_the_boxes_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of as many rows of A as the kernel has room for; whole lines of B are not asked for."""
    asked: list[tuple[tuple[int, int], dict[str, bool]]] = []

    def noted(matrix: torch.Tensor, of_box: tuple[int, int], **given: bool) -> torch.Tensor:
        asked.append((of_box, given))
        return matrix

    monkeypatch.setattr(wgmma_strips, "tensor_map", noted)
    recorder: Any = Recorder()
    a, b = (torch.randint(-4, 5, size).to(torch.bfloat16) for size in ((13, 200), (200, 1032)))
    result = multiply_strips(recorder, a, b, torch.bfloat16, strips=STRIPS[0], cluster=2)
    assert asked == [((16, STEP), {}), ((STEP, 64), {"brings_lines": False})]
    ((name, grid, (of_a, of_b, c, *sizes), given),) = recorder.launches
    assert (name, c is result) == ("strips_16x64_16", True)
    assert sizes[:3] == [13, 1032, 200]
    assert sizes[3].numel() == grid * 64 * 16 * 2
    assert given["cluster"] == 2
    made = torch.zeros(16, 9 * 128)
    for own in runs_of(STRIPS[0], 2, 1032, 4, grid // 2).values():
        for strip, first, last in own:
            for step in range(first, last):
                of_step = box(of_a, 0, step * STEP, 16, STEP).float()
                for rank in range(2):
                    column = (strip * 2 + rank) * 64
                    of_block = box(of_b, step * STEP, column, STEP, 64).float()
                    made[:, column : column + 64] += of_step @ of_block
    assert torch.equal(made[:13, :1032], a.float() @ b.float())


def chosen(m: int, n: int, k: int) -> tuple[str, int]:
    """The kernel, and shares of each strip, or blocks of each tile."""
    a, b = (torch.empty(size, dtype=torch.bfloat16) for size in ((m, k), (k, n)))
    sizes = (m, n, -(-k // STEP), MULTIPROCESSORS, (pitch(k * 2, m) % 64 == 0, pitch(n * 2, k) % 64 == 0))
    name, plan = wgmma_few_rows.best(*sizes) if wgmma_few_rows.takes(a, b) else best_of_tiles(*sizes)
    product: Any = faster_than_tiles(a, b, plan.time_ns, MULTIPROCESSORS)
    if product is None:
        return name, TILES[name].parts if plan.alone < TILES[name].count(m, n) else 1
    if getattr(product, "func", None) is not multiply_strips:
        return product.__name__, 0
    strips, cluster, shares = (product.keywords[name] for name in ("strips", "cluster", "shares"))
    each, rest = divmod(shares, -(-n // (strips.columns * cluster)))
    return strips.name(m), 0 if rest else each


@pytest.mark.parametrize(
    ("m", "n", "k", "expected"),
    [
        (7, 40000, 8192, ("strips_8x64_16", 0)),
        (21, 15400, 1736, ("strips_24x64_8", 1)),
        (15, 5968, 8304, ("strips_16x64_16", 1)),
        (18, 8128, 29456, ("strips_24x64_16", 1)),
        (11, 4424, 9832, ("strips_16x128_10", 3)),
        (5, 62584, 4384, ("strips_8x128_10", 0)),
        (30, 9168, 7088, ("strips_32x64_8", 1)),  # by two blocks on some multiprocessors
        (1, 8192, 8192, ("strips_8x64_8", 1)),
        (13, 9591, 34272, ("multiply_few_rows", 0)),  # rows that begin anywhere
    ],
)
def test_few_rows_are_streamed_by_where_that_is_faster(
    m: int, n: int, k: int, expected: tuple[str, int]
) -> None:
    """Than tiles, as measured: by equal shares, or by so many of each strip."""
    assert chosen(m, n, k) == expected


@pytest.mark.parametrize(
    ("m", "n", "k", "expected"),
    [
        (10, 2792, 2088, ("across_16x64_halves", 2)),
        (2, 5832, 1088, ("across_16x64_halves", 1)),
        (30, 3032, 4448, ("across_32x64_halves", 2)),
        (4, 904, 3312, ("across_32x64_quarters", 4)),
        (22, 5440, 1304, ("across_32x64_quarters", 1)),
    ],
)
def test_little_to_stream_goes_by_tiles(m: int, n: int, k: int, expected: tuple[str, int]) -> None:
    """Whose blocks are as many as multiprocessors, or nearly, some in pairs or fours along k."""
    assert chosen(m, n, k) == expected


def test_tiles_of_few_rows_are_for_these_alone() -> None:
    assert set(wgmma_few_rows.tiles()) > TILES_OF_FEW_ROWS
    assert all(
        best_of_tiles(32, n, 16, MULTIPROCESSORS)[0] not in TILES_OF_FEW_ROWS for n in range(8, 9000, 88)
    )
    a, b = (torch.empty(size, dtype=torch.bfloat16) for size in ((33, 2048), (2048, 2048)))
    assert not wgmma_few_rows.takes(a, b)
    assert wgmma_few_rows.takes(a[:32], b)


def test_each_ring_fits_into_shared_memory() -> None:
    for strips in STRIPS:
        for m in (1, 9, 17, 32):
            assert strips.shared_bytes(m) <= 227 * 1024


def test_strips_spill_nothing_and_wait_for_no_fence(tmp_path: Path) -> None:
    """Sums that meet in memory go by words that hold their flag."""
    source = tmp_path / "kernel.cu"
    source.write_text(strips_source("matmul"))
    code = machine_code(source, Dtype.BFLOAT16, tmp_path)
    assert len(set(re.findall(r"\.text\.(strips_\d+x\d+_\d+)", code))) == 4 * len(STRIPS)
    assert not re.search(r"\b(STL|LDL)\b|MEMBAR\.\w+\.GPU", code)
