"""What the wgmma versions share: the choice of a tile and of an order, the instructions they become."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.linear_cross_entropy_backward.products import plan_of
from roofscope.kernels.shared import (
    wgmma_attention,
    wgmma_attention_backward,
    wgmma_matmul,
    wgmma_pitched,
)
from roofscope.kernels.shared.heads import MORE_DIMS
from roofscope.kernels.shared.tile_times import EQUAL, IN_TURN, Tile, most_blocks
from roofscope.kernels.shared.wgmma_attention import heads_of_group
from roofscope.kernels.shared.wgmma_attention_backward import (
    blocks_together,
    group_of,
    heads_within,
    shared_bytes,
)
from roofscope.kernels.shared.wgmma_matmul import choice
from roofscope.kernels.shared.wgmma_plans import TILES, TILES_AMID_LINES, best
from roofscope.kernels.shared.whole_rows import both_in_whole_units
from roofscope.profiling.worker.build.providers import cuda
from roofscope.profiling.worker.build.tensor_map import needs_hopper
from roofscope.profiling.worker.failures import Refusal

MULTIPROCESSORS = 132
HOPPER_BYTES = 232_448  # shared memory a block may have
_ONE_TILE = """#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#include "shared/wgmma_kernels.cuh"
struct Finish {
    __device__ float2 operator()(float2 sums, int) const { return sums; }
};
WGMMA_KERNEL(tile, ONE_ROWS, 192, 4, 2, 1, 1, ONE_ACROSS, Finish{})
#endif
"""
PRODUCTS = [
    ("matmul", Dtype.BFLOAT16, "HGMMA.64x256x16.F32.BF16"),
    ("matmul", Dtype.FLOAT16, "HGMMA.64x256x16.F32"),
    ("matmul_relu", Dtype.BFLOAT16, "HGMMA.64x256x16.F32.BF16"),
    ("matmul_bias_gelu", Dtype.BFLOAT16, "HGMMA.64x256x16.F32.BF16"),
    ("matmul_tf32", Dtype.FLOAT32, "HGMMA.64x256x8.F32.TF32"),
    ("matmul_fp8", Dtype.BFLOAT16, "QGMMA.64x256x32.F32.E4M3.E4M3"),
]


@pytest.mark.parametrize(
    ("size", "expected", "shares"),
    [
        (8192, "tile_128x256_pair", True),  # 1024 tiles of two blocks: 34 beyond 15 rounds of 66
        (2560, "across_208x128_pair", False),  # 130 of two blocks: two rounds but for two
        (2304, "across_112x192_2x1", False),
        (2056, "across_176x192_above", False),  # one round of 132
        (1536, "across_96x192_above", False),
        (2048, "tile_128x128_2x1", False),
        (1280, "across_112x128_2x2", False),
        (1024, "tile_64x128_2x1", False),
        (768, "tile_64x128_2x1", False),
    ],
)
def test_takes_the_tile_of_least_time(size: int, expected: str, shares: bool) -> None:
    is_aligned = size % 64 == 0
    sizes = (size, size, -(-size // 64), MULTIPROCESSORS)
    name, plan = best(*sizes, (is_aligned, is_aligned))
    assert name == expected
    assert (plan.alone < TILES[name].count(size, size)) == shares


def test_long_products_of_32_bits_lie_across() -> None:
    """With the last tiles shared; no shorter product takes this tile, nor any of 16 bits."""
    name, plan = best(8192, 8192, 256, MULTIPROCESSORS, c_bytes=4)
    assert name == "across_256x128_pair"
    assert TILES[name].count(8192, 8192) - plan.alone == 34
    assert best(8192, 8192, 256, MULTIPROCESSORS)[0] != name
    for size in (512, 1000, 2048, 3072):
        assert best(size, size, -(-size // 32), MULTIPROCESSORS, c_bytes=4)[0] != name


@pytest.mark.parametrize(
    ("heads", "seq", "dim", "expected"),
    [(64, 512, 128, 1), (64, 1024, 64, 33), (64, 2048, 128, 31), (64, 4096, 64, 22), (1, 1, 64, 1)],
)
def test_sorts_causal_tiles_of_as_many_heads_as_share_them_best(
    heads: int, seq: int, dim: int, expected: int
) -> None:
    assert heads_of_group(heads, seq, dim, MULTIPROCESSORS) == expected


@pytest.mark.parametrize("dim", MORE_DIMS)
def test_tiles_of_attention_fit_hopper(dim: int) -> None:
    """Queries, ring and barriers in shared memory, sums in registers; keys make whole products."""
    for keys in (wgmma_attention.KEYS[dim], wgmma_attention.KEYS_OF_WINDOW[dim]):
        assert keys % 16 == 0
        assert wgmma_attention.shared_bytes(dim, keys) <= 227 * 1024
        threads = (wgmma_attention.CONSUMERS[dim] + 1) * 128
        sums = dim // 2 + keys // 2 + keys // 4 + (dim // 4 if dim == 128 else 0)  # and queries
        assert threads <= 512
        assert sums < {512: 160, 384: 240}[threads]


def test_a_shared_last_tile_takes_half_the_steps_and_the_exchange() -> None:
    """54 tiles beyond three rounds go to 66 pairs of blocks; 70 do not, and take a round."""
    tile = TILES["tile_128x256"]
    alone, shared = tile.plans(128 * 450, 256, 60, MULTIPROCESSORS)
    assert (alone.blocks, alone.alone) == (MULTIPROCESSORS, 450)
    assert (shared.blocks, shared.alone) == (MULTIPROCESSORS, 3 * MULTIPROCESSORS)
    assert shared.time_ns < alone.time_ns
    assert len(tile.plans(128 * (132 + 70), 256, 60, MULTIPROCESSORS)) == 1
    assert tile.plans(1024, 1024, 60, MULTIPROCESSORS)[1].blocks == 2 * tile.count(1024, 1024) == 64
    assert tile.plan(128, 256, 1, MULTIPROCESSORS) == tile.plans(128, 256, 1, MULTIPROCESSORS)[0]


@pytest.mark.parametrize(("size", "steps", "alone"), [(8192, 256, 990), (8192, 128, 990), (5120, 80, 330)])
def test_a_whole_round_more_is_shared_where_l2_holds_the_operands(size: int, steps: int, alone: int) -> None:
    name, plan = best(size, size, steps, MULTIPROCESSORS)
    assert (name, plan.alone) == ("tile_128x256_pair", alone)


def test_rows_that_begin_within_lines_take_clusters_that_copy_less() -> None:
    """Their steps wait for twice as many lines of L2, of which the blocks of a pair copy a part each."""
    alone, clusters = TILES["tile_128x128"], TILES["tile_128x128_4x2"]
    steps_ns = [alone.step_of(aligned) for aligned in ((True, True), (True, False), (False, False))]
    assert steps_ns == sorted(steps_ns)
    longer_ns = [tile.step_of((False, False)) - tile.step_of((True, True)) for tile in (alone, clusters)]
    assert longer_ns[0] > 2 * longer_ns[1]


@pytest.mark.parametrize(
    ("m", "n", "k", "expected"),
    [
        (1032, 1032, 4104, "across_96x128_4x2"),
        (888, 2504, 1256, "across_160x128_2x2"),
        (3032, 336, 1048, "across_80x128_4x1"),
        (4096, 4104, 4088, "across_176x192_above"),
    ],
)
def test_such_rows_take_clusters_where_there_is_room(m: int, n: int, k: int, expected: str) -> None:
    sizes = (m, n, -(-k // 64), MULTIPROCESSORS, (k % 64 == 0, n % 64 == 0))
    assert best(*sizes)[0] == best(*sizes, (120, 120))[0] == expected
    name, _ = best(*sizes, (0, 0))
    assert TILES[name].cluster <= 2


class RoomForClusters:
    """As much as a program says that an H200 has."""

    multiprocessor_count = MULTIPROCESSORS

    def clusters_at_once(self, _name: str, _threads: int, cluster: int, _bytes: int) -> int:
        return 120 // cluster


@pytest.mark.parametrize(
    ("m", "n", "k", "expected"),
    [
        (515, 9512, 864, "across_192x128_1x4"),
        (4008, 1672, 904, "across_144x192_2x1"),
        (916, 6432, 2008, "across_184x128_1x2"),
        (657, 1688, 6880, "across_168x64_2x4"),
        (2746, 1640, 5088, "across_288x128_2x1"),
        (401, 3968, 14_944, "across_104x128_2x1"),
        (406, 10_256, 4440, "across_136x256_1x2"),
        (635, 8304, 5048, "across_160x256_2x1"),
        (664, 5264, 5208, "across_224x128_1x2"),
        (1331, 15_784, 608, "turns_112x192_2x1"),
        (518, 8672, 352, "turns_104x192_1x2"),
        (4517, 6312, 296, "turns_104x192_2x1"),
        (11_828, 808, 1616, "turns_160x128_2x1"),
    ],
)
def test_rows_that_begin_amid_lines_take_the_tile_that_was_measured_best(
    m: int, n: int, k: int, expected: str
) -> None:
    """Of A, of B or of both, the last ones on halves of lines; float32 has none of the tiles for 16 bits."""
    program: Any = RoomForClusters()
    a, b = (torch.empty(size, dtype=torch.bfloat16, device="meta") for size in ((m, k), (k, n)))
    assert choice(program, a, b, a.dtype)[0] == expected
    a, b = (torch.empty(size, device="meta") for size in ((m, k), (n, k)))
    assert choice(program, a, b, a.dtype)[0] not in TILES_AMID_LINES


@pytest.mark.parametrize(
    ("m", "n", "k", "aligned"),
    [(3161, 544, 4336, (False, True)), (3431, 599, 4751, (True, True)), (2803, 815, 13_247, (True, True))],
)
def test_pairs_do_not_fill_one_round_of_a_long_k(m: int, n: int, k: int, aligned: tuple[bool, bool]) -> None:
    """Tiles that leave some multiprocessors idle were measured faster."""
    name, plan = best(m, n, -(-k // 64), MULTIPROCESSORS, aligned, (120, 120))
    tile = TILES[name]
    assert tile.cluster != 2 or tile.count(m, n) <= 60
    assert plan.alone == tile.count(m, n)


def test_wide_tiles_along_rows_read_pairs() -> None:
    """So that a bias of an odd number is copied for these alone."""
    reading = {name for name, tile in TILES.items() if tile.reads_pairs}
    assert {"tile_128x256", "tile_128x192_2x1", "tile_64x192_1x1"} <= reading
    assert not {"tile_64x64", "tile_128x128", "tile_128x256_pair", "across_192x192_pair"} & reading


def test_what_is_read_by_pairs_has_whole_ones() -> None:
    """A bias of an odd number; not scales, nor one of another length."""
    bias = torch.arange(7, dtype=torch.bfloat16)
    assert torch.equal(wgmma_matmul.in_pairs(bias, 7)[:7], bias)
    assert wgmma_matmul.in_pairs(bias, 7).numel() == 8
    for other in (torch.ones(1), torch.arange(8, dtype=torch.bfloat16)):
        assert wgmma_matmul.in_pairs(other, 7) is other


def test_power_leaves_the_choice_to_a_tile_that_is_much_faster() -> None:
    """Threads store odd rows of pairs of 128 x 256 more slowly than they do those of tiles across."""
    assert best(11_572, 11_846, 39, MULTIPROCESSORS, (True, True), (120, 120))[0].startswith("across")
    assert best(11_572, 11_848, 39, MULTIPROCESSORS, (True, True), (120, 120))[0] == "tile_128x256_pair"


@pytest.mark.parametrize(
    ("m", "n", "k", "aligned", "expected"),
    [
        (5000, 611, 5000, (False, True), "tile_128x256_4x1"),
        (9600, 778, 10693, (True, True), "tile_128x160_2x1"),
        (3000, 1277, 513, (True, True), "across_176x192_above"),
        (700, 7001, 260, (False, True), "across_128x192_2x1"),
        (444, 1425, 252, (True, True), "across_64x128_quarters"),
        (1001, 1003, 1005, (True, True), "tile_64x128_2x1"),
        (376, 1182, 107, (False, True), "tile_64x64"),
    ],
)
def test_odd_rows_of_c_take_the_tile_that_was_measured_best(
    m: int, n: int, k: int, aligned: tuple[bool, bool], expected: str
) -> None:
    """As threads store them at so many bytes a nanosecond, those of tiles across at more."""
    assert best(m, n, -(-k // 64), MULTIPROCESSORS, aligned, (120, 120))[0] == expected


def test_grids_have_as_many_clusters_as_find_room() -> None:
    tile = TILES["across_96x128_4x2"]
    blocks = [tile.plan(8192, 8192, 128, MULTIPROCESSORS).blocks]
    for clustered in ((128, 112), (132, 7)):
        blocks += [p.blocks for p in tile.plans(8192, 8192, 128, MULTIPROCESSORS, clustered=clustered)]
    assert blocks == [120, 112]  # and none
    assert most_blocks(2, MULTIPROCESSORS, (64, 64)) == MULTIPROCESSORS


def test_clusters_share_what_is_left_of_whole_rounds() -> None:
    """Tiles of two blocks, 66 a round; none is shared where none is left, or for steps beyond 32 bits."""
    tile = TILES["tile_128x256_pair"]
    plans = tile.plans(8192, 8192, 128, MULTIPROCESSORS)
    assert {plan.blocks for plan in plans} == {MULTIPROCESSORS}
    # None, the 34 beyond 15 rounds, and a whole round more.
    assert [plan.alone for plan in plans] == [1024, 15 * 66, 14 * 66]
    assert [plan.alone for plan in tile.plans(256 * 65, 256, 128, MULTIPROCESSORS)] == [65, 0]
    assert len(tile.plans(256 * 66, 256, 128, MULTIPROCESSORS)) == 1
    assert len(tile.plans(256 * 65, 256, 2**26, MULTIPROCESSORS)) == 1
    assert len(tile.plans(256 * 65, 256, 0, MULTIPROCESSORS)) == 1  # nobody would store


@pytest.mark.parametrize("multiprocessors", [132, 114, 78])
def test_grids_are_of_whole_clusters_on_any_hopper(multiprocessors: int) -> None:
    for tile in TILES.values():
        for m, n, steps in ((1, 1, 1), (70, 9000, 3), (1000, 1048, 9), (8192, 8192, 128)):
            for plan in tile.plans(m, n, steps, multiprocessors):
                assert 0 < plan.blocks <= multiprocessors
                assert plan.blocks % (tile.cluster * max(tile.parts, 1)) == 0
                assert 0 <= plan.alone <= tile.count(m, n)


class Recorder:
    """Stands for a CudaProgram; keeps the numbers of what is launched."""

    def __init__(self) -> None:
        self.launches: list[tuple[str, int, list[int]]] = []

    def launch(self, name: str, grid: int, _: int, *arguments: torch.Tensor | int, overlaps: bool) -> None:
        assert overlaps
        self.launches.append((name, grid, [value for value in arguments if isinstance(value, int)]))


def test_rows_that_tma_cannot_copy_are_made_whole_by_one_kernel() -> None:
    """All but the shortest begin on lines of L2; a matrix whose rows are whole stays where it is."""
    recorder: Any = Recorder()
    a, b = torch.empty(70, 513, dtype=torch.bfloat16), torch.empty(513, 31, dtype=torch.bfloat16)
    whole = both_in_whole_units(recorder, a, b)
    assert [tuple(matrix.shape) for matrix in whole] == [(70, 576), (513, 64)]
    units = [70 * 72, 513 * 8]
    assert recorder.launches == [("whole_rows", -(-sum(units) // 256), [70, 72, 1026, 513, 8, 62])]
    a, b = torch.empty(70, 512, dtype=torch.bfloat16), torch.empty(512, 31, dtype=torch.bfloat16)
    assert both_in_whole_units(recorder, a, b)[0] is a
    assert recorder.launches[1][2] == [0, 64, 1024, 512, 8, 62]
    short = torch.empty(512, 15, dtype=torch.bfloat16)
    assert tuple(both_in_whole_units(recorder, a, short)[1].shape) == (512, 16)
    many = torch.empty(2**18, 31, dtype=torch.bfloat16)  # rows that are not held in L2 stay short
    assert tuple(both_in_whole_units(recorder, a, many)[1].shape) == (2**18, 32)
    assert both_in_whole_units(recorder, a, a) == (a, a)
    empty = both_in_whole_units(recorder, a[:, :0], a)[0]
    assert tuple(empty.shape) == (70, 8)
    assert len(recorder.launches) == 4


def test_few_tokens_want_the_matrices_of_their_experts_only() -> None:
    """Of many, all are made whole: hardly one has no token."""
    module = load_module(LIBRARY / "grouped_matmul" / "cuda_wgmma.py")
    for tokens, expected in ((7, "whole_rows_of_runs"), (70, "whole_rows")):
        recorder: Any = Recorder()
        recorder.multiprocessor_count = MULTIPROCESSORS
        module.tensor_map = lambda *_: None
        x, w = torch.empty(tokens, 31, dtype=torch.bfloat16), torch.empty(8, 5, 31, dtype=torch.bfloat16)
        recorder.launch = lambda name, *_, found=recorder.launches, **__: found.append(name)
        module.launch(recorder, "tile_64x64", x, w, torch.empty(9, dtype=torch.int32))
        assert recorder.launches[0] == expected


def test_fewer_clusters_share_the_one_tile_of_a_long_sum() -> None:
    """One block adds the parts of all."""
    plan = plan_of(223, 215, 14855, MULTIPROCESSORS)
    assert plan.alone == 0
    assert 2 < plan.blocks < MULTIPROCESSORS // 2
    assert plan.blocks % 2 == 0
    assert plan_of(3000, 2000, 20000, MULTIPROCESSORS).blocks == MULTIPROCESSORS


def test_odd_columns_go_into_wider_rows_of_whole_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller gets the first columns; the map of C is that of the wider rows, so that TMA stores them."""
    recorder: Any = Recorder()
    asked: list[str] = []
    recorder.multiprocessor_count = MULTIPROCESSORS
    recorder.clusters_at_once = lambda name, *_: asked.append(name) or 30
    recorder.launch = lambda name, *arguments, **_: recorder.launches.append((name, arguments[2:]))
    monkeypatch.setattr(wgmma_matmul, "tensor_map", lambda matrix, box: (tuple(matrix.shape), box))
    monkeypatch.setattr(wgmma_pitched, "needs_hopper", lambda *_: None)
    a, b = torch.empty(3345, 227, dtype=torch.bfloat16), torch.empty(227, 9113, dtype=torch.bfloat16)
    c = wgmma_pitched.multiply_pitched(recorder, "here", a, b, a.dtype)
    assert (tuple(c.shape), c.stride()) == ((3345, 9113), (9152, 1))
    _, (name, (_, _, c_map, *rest)) = recorder.launches
    assert {name, *asked} <= set(wgmma_pitched.PITCHED)
    assert c_map[0] == (3345, 9152)
    assert rest[:3] == [3345, 9113, 227]
    assert rest[-1] == 0  # no thread stores
    source = (LIBRARY / "shared" / "wgmma_kernels.cuh").read_text().split("define PITCHED_KERNELS")[1]
    assert tuple(re.findall(r"WGMMA_KERNEL\((\w+)", source)) == wgmma_pitched.PITCHED
    with pytest.raises(Refusal, match="cuda_wgmma stores the others"):
        wgmma_pitched.multiply_pitched(recorder, "here", a, b[:, :9112], a.dtype)


def test_tiles_in_turn_hide_their_stores() -> None:
    """All but the last; rows of C that threads would store have no such tile."""
    in_turn = TILES["turns_104x192_2x1"]
    alone = replace(in_turn, parts=1)
    rounds, sizes = 4, (104 * MULTIPROCESSORS, 192 * 4, 6, MULTIPROCESSORS)
    gained_ns = alone.plan(*sizes).time_ns - in_turn.plan(*sizes).time_ns
    assert gained_ns > (rounds - 1) * 1000
    assert in_turn.plans(1000, 1001, 9, MULTIPROCESSORS) == []


@pytest.mark.parametrize("tile", TILES.values(), ids=list(TILES))
def test_every_tile_fits_hopper(tile: Tile) -> None:
    """In shared memory and in registers; each block that shares it stores whole boxes of C."""
    assert tile.shared_bytes <= HOPPER_BYTES
    sums = tile.rows * tile.columns // ((1 if tile.parts == IN_TURN else tile.warpgroups) * 128)
    assert sums + 40 <= {1: 255, 2: 232, 3: 160}[tile.warpgroups]
    if tile.across:
        assert tile.rows // max(tile.parts, 1) % tile.c_rows == 0


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (8192, "tile_128x128_pair"),
        (4096, "tile_128x128"),
        (2048, "tile_128x128"),
        (1536, "tile_128x128"),
        (1024, "tile_128x64"),
    ],
)
def test_three_products_take_the_tile_of_least_time(size: int, expected: str) -> None:
    module = load_module(LIBRARY / "matmul" / "cuda_tf32x3.py")
    assert module.choose(size, size, size, MULTIPROCESSORS).name == expected
    assert all(tile.shared_bytes <= HOPPER_BYTES for tile in module.TILES.values())


def test_three_products_split_once_and_then_run_by_themselves(tmp_path: Path) -> None:
    code = machine_code("matmul/cuda_tf32x3.cu", Dtype.FLOAT32, tmp_path)
    for instruction in ("HGMMA.64x128x8.F32.TF32", "UTMALDG.2D.MULTICAST", "UTMASTG.2D"):
        assert instruction in code
    # Of a part that is left in memory, once a kernel.
    module = load_module(LIBRARY / "matmul" / "cuda_tf32x3.py")
    assert len(re.findall(r"MEMBAR\.\w+\.GPU", code)) <= len(module.TILES)


def test_few_tiles_of_three_products_are_shared_along_k() -> None:
    """As many blocks as pay for what it takes to add their parts; none where tiles fill the GPU."""
    module = load_module(LIBRARY / "matmul" / "cuda_tf32x3.py")
    plan = module.choose(900, 200, 9000, MULTIPROCESSORS)
    assert plan.alone == 0
    assert 2 * module.TILES[plan.name].count(900, 200) <= plan.blocks <= MULTIPROCESSORS
    for m, n, k in ((900, 200, 32), (12 * 128, 11 * 128, 9000), (5, 8, 0)):
        plan = module.choose(m, n, k, MULTIPROCESSORS)
        assert plan.alone == module.TILES[plan.name].count(m, n), (m, n, k)


def test_refuses_what_has_no_wgmma() -> None:
    with pytest.raises(Refusal, match="Hopper"):
        needs_hopper("matmul/cuda_wgmma", torch.device("cpu"))


@pytest.mark.parametrize(("kernel", "dtype", "product"), PRODUCTS)
def test_copies_and_products_run_by_themselves(
    kernel: str, dtype: Dtype, product: str, tmp_path: Path
) -> None:
    """TMA on both ends, wgmma in the middle, and in the loop no fence that waits for all of memory."""
    code = machine_code(f"{kernel}/cuda_wgmma.cu", dtype, tmp_path)
    for instruction in (product, "UTMALDG.2D.MULTICAST", "UTMASTG.2D", "USETMAXREG"):
        assert instruction in code
    sharing = [tile for tile in TILES.values() if tile.parts == EQUAL]
    in_clusters = set(
        re.findall(r"\b(?:(?:few_rows|long_sums|amid|classes|class_sums)_[\dx]+|one_row)\b", code)
    )
    # Of a part that is left in memory, or read by another block of the cluster: long sums do both.
    expected = len(sharing) + len(in_clusters) + ("long_sums_32x64" in in_clusters)
    assert len(re.findall(r"MEMBAR\.\w+\.GPU", code)) <= expected


@pytest.mark.parametrize(
    ("dtype", "macros"),
    [(Dtype.BFLOAT16, ""), (Dtype.FLOAT16, ""), (Dtype.FLOAT32, "#define MULTIPLIES_TF32\n")],
)
def test_odd_rows_are_stored_by_words_of_16_bytes(dtype: Dtype, macros: str, tmp_path: Path) -> None:
    """Each lane a word, of a box or a tile across; no shuffle puts one together, and nothing is spilled."""
    source = tmp_path / "kernel.cu"
    for rows, across in ((128, "false"), (160, "true")):
        source.write_text(f"{macros}#define ONE_ROWS {rows}\n#define ONE_ACROSS {across}\n{_ONE_TILE}")
        code = machine_code(source, dtype, tmp_path)
        assert not re.search(r"\bSHFL\.DOWN\b|\bSTL\b|\bLDL\b", code)
        assert re.search(r"\bSTG?\.E\.128\b", code)


@pytest.mark.parametrize("kernel", ["attention_causal", "attention_causal_gqa"])
def test_divided_causal_attention_spills_nothing(kernel: str, tmp_path: Path) -> None:
    """For all heads but those of 256 elements, of which no kernel divides tiles."""
    code = machine_code(f"{kernel}/cuda_wgmma.cu", Dtype.BFLOAT16, tmp_path)
    assert {int(dim) for dim in re.findall(r"\.text\.divided_(\d+)", code)} == {64, 96, 128, 192}
    assert not re.search(r"\b(STL|LDL)\b", code)


def test_tiles_that_leave_statistics_spill_nothing(tmp_path: Path) -> None:
    code = machine_code("linear_cross_entropy/cuda_wgmma.cu", Dtype.BFLOAT16, tmp_path)
    assert "UTMALDG.2D.MULTICAST" in code
    assert not re.search(r"\b(STL|LDL)\b", code)


@pytest.mark.parametrize("kernel", ["attention_backward", "attention_backward_causal"])
def test_gradients_of_queries_are_added_by_the_copy_engine(kernel: str, tmp_path: Path) -> None:
    """A tile at a time; and every product is wgmma's, with 64 keys of a warpgroup."""
    code = machine_code(f"{kernel}/cuda_wgmma.cu", Dtype.BFLOAT16, tmp_path)
    for instruction in ("UTMALDG.3D ", "UBLKRED.G.S.ADD.F32", "USETMAXREG", "HGMMA.64x128x16.F32.BF16"):
        assert instruction in code
    assert "UTMALDG.3D.MULTICAST" in code  # by pairs of blocks
    assert not re.search(r"\bHMMA\b", code)
    for products in re.findall(r"HGMMA.*HGMMA", code.replace("\n", " ").replace(".section", "\n")):
        assert not re.search(r"\b(STL|LDL)\b", products)
        # Among them no fence of the GPU, but where the blocks of a cluster add up their sums.
        assert len(re.findall(r"MEMBAR\.\w+\.GPU", products)) <= len(re.findall(r"UCGABAR_ARV", products))


@pytest.mark.parametrize("kernel", ["attention_causal", "attention_varlen"])
def test_attention_is_copied_and_multiplied_by_units_of_their_own(kernel: str, tmp_path: Path) -> None:
    code = machine_code(f"{kernel}/cuda_wgmma.cu", Dtype.BFLOAT16, tmp_path)
    for instruction in ("UTMALDG.3D", "USETMAXREG", "HGMMA.64x128x16.F32.BF16"):
        assert instruction in code
    assert not re.search(r"MEMBAR\.\w+\.GPU|\bHMMA\b", code)


@pytest.mark.parametrize(("dim", "pair"), [(64, 1), (128, 1), (128, 2)])
def test_gradients_of_attention_fit_hopper(dim: int, pair: int) -> None:
    assert shared_bytes(dim, pair) <= HOPPER_BYTES


@pytest.mark.parametrize(
    ("dim", "seq", "causal", "together"),
    [
        (128, 2048, False, 2),
        (128, 2047, False, 1),  # too short
        (128, 2049, False, 1),  # 17 tiles
        (128, 8192, True, 1),  # the second block's steps in vain cost more
        (128, 16384, True, 2),
        (64, 16384, False, 1),
    ],
)
def test_blocks_work_in_pairs_where_that_is_faster(dim: int, seq: int, causal: bool, together: int) -> None:
    assert blocks_together(dim, -(-seq // 128), seq, causal=causal) == together


@pytest.mark.parametrize("module", [wgmma_attention, wgmma_attention_backward])
@pytest.mark.parametrize(
    ("tiles", "steps", "whole"),
    [
        (4096, 128, 4092),  # 31 rounds of 132, and 4 tiles
        (1024, 16, 1024),  # the last round is of 100
        (132, 64, 132),
        (4, 64, 0),  # fewer than blocks: all are divided
        (4, 6, 4),  # too short to be worth it
    ],
)
def test_divides_the_tiles_of_a_last_round_that_is_nearly_empty(
    module: ModuleType, tiles: int, steps: int, whole: int
) -> None:
    assert module.whole_tiles(tiles, steps, MULTIPROCESSORS) == whole


@pytest.mark.parametrize(
    ("tiles", "steps", "drawn"),
    [
        (4096, 64, True),  # 64 heads of 8192 at dim 128
        (704, 16, True),  # of 2048 at dim 64
        (264, 40, True),  # two tiles a block
        (264, 39, False),
        (128, 64, False),  # one
    ],
)
def test_draws_causal_tiles_where_blocks_have_enough_to_do(tiles: int, steps: int, drawn: bool) -> None:
    assert wgmma_attention.is_drawn(tiles, steps, MULTIPROCESSORS) == drawn


@pytest.mark.parametrize(
    ("heads", "tiles", "group", "visible", "expected"),
    [
        (64, 64, 4, 4096, 60),  # all but the first and the last group
        (64, 64, 1, 8192, 61),  # all but those of the first 132 tiles
        (64, 16, 16, 1024, 25),  # as many as there is time for
        (3, 1, 1, 128, 0),
    ],
)
def test_prepares_meanwhile_what_there_is_time_for(
    heads: int, tiles: int, group: int, visible: int, expected: int
) -> None:
    assert heads_within(heads, tiles, MULTIPROCESSORS, group, visible) == expected


@pytest.mark.parametrize(
    ("heads", "tiles", "expected"),
    [
        (64, 64, 4),
        (64, 16, 16),  # 2048 keys: of more heads, so that the longest tiles of many come first
        (64, 32, 8),
        (64, 22, 12),
        (64, 1, 64),
        (3, 128, 3),
    ],
)
def test_sorts_tiles_of_more_heads_where_they_are_short(heads: int, tiles: int, expected: int) -> None:
    assert group_of(heads, tiles) == expected


def machine_code(source: str | Path, dtype: Dtype, folder: Path) -> str:
    """The instructions, as text, of a source of the library or of any other."""
    triton = pytest.importorskip("triton", reason="nvdisasm comes with Triton, which is not installed here")
    cubin = folder / "kernel.cubin"
    cubin.write_bytes(cuda.compile_source(LIBRARY / source, dtype, "sm_90a").code)
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    return subprocess.run([tool, cubin], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("m", "n", "k"), [(334, 2403, 5957), (439, 13_369, 11_155)])
def test_blocks_that_copy_alone_do_not_get_all_they_could_multiply(m: int, n: int, k: int) -> None:
    """Of a long k small tiles want more bytes than a multiprocessor gets: so clusters are faster."""
    name, plan = best(m, n, -(-k // 64), MULTIPROCESSORS, (True, True), (120, 120))
    tile = TILES[name]
    assert tile.cluster > 1 or (tile.rows, tile.columns) == (128, 256)
    alone = TILES["tile_64x128_1x1"].plans(m, n, -(-k // 64), MULTIPROCESSORS)[0]
    assert alone.time_ns > 1.05 * plan.time_ns
