"""Products of float32 from rows that begin anywhere: which tile is chosen, and how it is launched."""

from typing import Any

import pytest
import torch

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared import loose_tf32
from roofscope.kernels.shared.limits import shared_limit
from roofscope.kernels.shared.loose_tf32 import CLUSTERS, best, launch, tiles, time_ns
from roofscope.tests.kernels.recorder import Recorder

MULTIPROCESSORS = 132


def takes_any(*_: object) -> None:
    """Stands for a refusal of other devices."""


@pytest.mark.parametrize("whole", [False, True])
def test_tiles_fit_a_multiprocessor(whole: bool) -> None:
    """And sums of all warps and blocks fit where their factors were."""
    limit = shared_limit(torch.device("cpu"))
    for tile in tiles(whole):
        assert tile.shared_bytes(not whole, tile.stages) <= limit
        for steps in range(1, tile.stages + 2):
            shared = tile.shared_bytes(not whole, steps)
            assert tile.warps_k * tile.rows * (tile.columns + 8) * 4 <= shared
            assert min(steps, tile.stages) * tile.stage_bytes(not whole) <= shared
            assert tile.at_once(whole, steps) >= 1


@pytest.mark.parametrize("whole", [False, True])
def test_blocks_of_a_cluster_share_k_in_whole_steps(whole: bool) -> None:
    tile = tiles(whole)[0]
    for cluster in CLUSTERS:
        recorder: Any = Recorder()
        a, b = torch.empty(17, 1000), torch.empty((1000, 65) if whole else (65, 1000))
        assert launch(recorder, tile, cluster, a, b, whole=whole).shape == (17, 65)
        ((name, grid, sizes, shared),) = recorder.launches
        assert (name, grid, shared) == (tile.name, 4 * cluster, cluster)
        assert sizes[:3] == [17, 65, 1000]
        assert sizes[3] % tile.step == 0
        assert sizes[3] * cluster >= 1000


@pytest.mark.parametrize("whole", [False, True])
def test_few_tiles_are_shared_and_many_are_not(whole: bool) -> None:
    assert best(34, 35, 9893, MULTIPROCESSORS, whole)[1] == max(CLUSTERS)
    assert best(4000, 4100, 37, MULTIPROCESSORS, whole)[1] == 1


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("multiprocessors", [1, 2, 15, 17])
def test_a_part_of_a_gpu_has_a_tile_too(multiprocessors: int, whole: bool) -> None:
    for m, n, k in ((129, 257, 65), (1, 1, 1), (33, 48, 10000)):
        assert best(m, n, k, multiprocessors, whole)[1] in CLUSTERS


@pytest.mark.parametrize(
    ("m", "n", "k", "name"),
    [
        (370, 377, 69, "direct_sums_ones"),
        (37, 2628, 28, "direct_sums_words"),
        (9302, 24, 99, "direct_sums_ones"),
        (163, 1785, 59, "direct_sums_ones"),
        (55, 11967, 19, "many_direct_sums_ones"),  # of a narrow C more, too
        (12001, 57, 21, "many_direct_sums_ones"),
        (48, 15000, 24, "many_direct_sums_words"),
        (2984, 275, 17, "loose"),  # more of C is stored by tiles
        (111, 10135, 27, "loose"),
        (100, 100, 250, "loose"),
        (694, 299, 235, "loose"),  # of a longer k tiles read each row for more of C at once
        (3157, 3908, 17, "loose"),
        (70, 80, 257, "loose"),
    ],
)
def test_short_sums_of_little_c_need_no_tile(
    m: int, n: int, k: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loose_tf32, "needs_hopper", takes_any)
    recorder: Any = Recorder()
    c = loose_tf32.multiply(recorder, "key", torch.empty(m, k), torch.empty(n, k), whole=False)
    assert c.shape == (m, n)
    ((launched, grid, _, _),) = recorder.launches
    assert launched.startswith(name)
    if name != "loose":
        assert grid == ((-(-m // 16), -(-n // 64)) if name.startswith("many") else (-(-m // 32), -(-n // 32)))


def test_the_whole_of_float32_is_multiplied_by_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loose_tf32, "needs_hopper", takes_any)
    recorder: Any = Recorder()
    loose_tf32.multiply(recorder, "key", torch.empty(70, 50), torch.empty(50, 60), whole=True)
    assert recorder.launches[0][0].startswith("loose")


def test_clusters_keep_to_a_group_of_multiprocessors() -> None:
    """Where one more has no room, some come in a second round: the same work takes longer."""
    tile = next(tile for tile in tiles(False) if tile.name == "loose_64x64" and not tile.many)
    for cluster, most in ((16, 14), (8, 30), (6, 34), (4, 60)):  # two blocks of a multiprocessor
        times = [time_ns(tile, cluster, 64, 64 * n, 9600, MULTIPROCESSORS, False) for n in (most, most + 1)]
        assert times[1] > 1.4 * times[0]


@pytest.mark.parametrize(
    ("m", "n", "k", "name", "cluster"),
    [
        (78, 1255, 11585, "loose_32x64", 2),  # 40 clusters of three blocks of 64 x 64 would not fit
        (20, 5000, 5003, "loose_32x64", 4),
        (60, 901, 8001, "loose_64x64", 8),  # 15 clusters, which is all that have room
        (25, 700, 15001, "loose_32x64", 8),
    ],
)
def test_clusters_have_room_at_once(m: int, n: int, k: int, name: str, cluster: int) -> None:
    tile, found = best(m, n, k, MULTIPROCESSORS, False)
    assert (tile.name, found) == (name, cluster)
