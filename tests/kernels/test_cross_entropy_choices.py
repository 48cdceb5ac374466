"""What cross_entropy chooses for rows of any length and number: rings, lanes, threads, blocks, clusters."""

import math
import re
from itertools import product
from typing import Any

import pytest
import torch

from roofscope.tests.kernels.launchers import launcher, source

MULTIPROCESSORS = (1, 28, 132, 148)
COLUMNS = (*range(1, 70), 100, 128, 129, 255, 256, 301, 513, 1023, 1024, 1025, 2047, 4093, 9001, 70_001)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cross_entropy_has_room_for_a_short_row(dtype: torch.dtype) -> None:
    module, text = launcher("cross_entropy", "cuda_online"), source("cross_entropy", "cuda_online")
    for rows, cols in product((1, 100, 100_000), COLUMNS):
        row_bytes = cols * dtype.itemsize
        chosen = module.short_kernel(rows, cols, torch.empty(8, dtype=dtype), 132)
        if chosen is None:
            assert row_bytes > (2048 if rows < 264 else 16_000)
            continue
        name, blocks, threads = chosen
        if "elements" in name or "thread" in name:
            room = int(name.rpartition("_")[2])
            assert cols <= room
            assert blocks * threads >= rows * (room if "elements" in name else 1)
            assert f"SHORT_KERNEL({name.removeprefix('cross_entropy_')}, {threads}, " in text
            continue
        found = re.fullmatch(r"cross_entropy_((?:lanes_(\d+)|block)_(\d+))(?:_by_(\d+))?", name)
        assert found is not None
        group, lanes, packs, access = found.groups()
        lanes = int(lanes or threads)
        assert 0 < blocks <= -(-rows * lanes // threads)  # they go from row to row
        assert int(access or 0) == (math.gcd(row_bytes, 16) if row_bytes % 4 == 0 else 0)
        whole = (
            row_bytes // 16 * 16
        )  # beside the most words in a row that begins anywhere others have the rest
        assert (row_bytes if access else whole) <= lanes * int(packs) * 16
        assert f"SHORT_KERNELS({group}, " in text


@pytest.mark.parametrize("size", [2, 4])
def test_cross_entropy_rings_hold_the_lines_of_rows(size: int) -> None:
    module, text = launcher("cross_entropy", "cuda_online"), source("cross_entropy", "cuda_online")
    of_multiprocessor, chosen = 228 << 10, set[int]()
    for rows, cols, multiprocessors in product((1, 5000, 200_000, 2**27, 2**30), COLUMNS, MULTIPROCESSORS):
        ring = module.ring_of(rows, cols * size, math.gcd(cols * size, 16), multiprocessors)
        if ring is None:
            continue
        lanes = int(ring.name.rpartition("_")[2])
        chosen.add(lanes)
        assert f"RING_KERNEL({lanes}, " in text
        assert lanes == 1 or cols * size >= 32 * size  # whole words in every row
        assert ring.stage_bytes % 128 == 0
        # Rows that begin with the last element of a line.
        assert ring.stage_bytes >= -(-(128 - size + 32 // lanes * cols * size) // 128) * 128
        assert ring.threads in range(128, 1025, 128)
        assert ring.threads // 32 * module.STAGES * ring.stage_bytes <= ring.shared_bytes
        assert of_multiprocessor / 2 < ring.shared_bytes <= 223 << 10  # one a multiprocessor
    # Lanes hold long rows that begin on words of 4 bytes.
    assert chosen == ({1, 8, 16, 32} if size == 2 else {1})


@pytest.mark.parametrize(
    ("rows", "cols", "name"),
    [
        (21_841, 5, "thread_8"),
        (4720, 5, "thread_8"),
        (4720, 4, "thread_4"),
        (1, 1, "thread_4"),
        (4720, 9, "elements_16"),
        (1, 0, "elements_16"),
        (70_001, 5, "slab_1_1"),
        (21_841, 9, "slab_1_1"),
    ],
)
def test_cross_entropy_gives_a_thread_a_very_short_row(rows: int, cols: int, name: str) -> None:
    """Where very many have one, they come by way of shared memory, in whole words."""
    module = launcher("cross_entropy", "cuda_online")
    x = torch.empty(rows, cols, dtype=torch.bfloat16, device="meta")
    found = module.slab_of_rows(x)
    assert name == (f"slab_{found.width}_1" if found else module.short_kernel(rows, cols, x, 132)[0][14:])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cross_entropy_gives_a_thread_whole_words_of_rows_of_a_few_columns(dtype: torch.dtype) -> None:
    module, text = launcher("cross_entropy", "cuda_online"), source("cross_entropy", "cuda_online")
    for rows, cols in product((65_536, 65_537, 564_992), range(1, 17)):
        x, labels = torch.empty(rows * cols + 1, dtype=dtype), torch.empty(rows + 1, dtype=torch.int64)
        logits = x[:-1].view(rows, cols)
        name, blocks, threads = module.rows_kernel(logits, labels[:-1])
        assert f"ROWS_KERNEL({cols})\n" in text
        assert name == f"cross_entropy_rows_{cols}"
        each = 4 if cols <= 2 else 2
        assert (blocks - 1) * threads * each < rows <= blocks * threads * each
        assert module.rows_kernel(x[1:].view(rows, cols), labels[:-1]) is None  # begin on no word
        assert module.rows_kernel(logits, labels[1:]) is None
    for rows, cols in ((65_535, 2), (8191, 5), (70_001, 17), (0, 2), (70_001, 0)):
        labels = torch.empty(rows, dtype=torch.int64)
        assert module.rows_kernel(torch.empty(rows, cols, dtype=dtype), labels) is None


@pytest.mark.parametrize(
    ("rows", "cols", "name"),
    [
        (4891, 684, "lanes_32_3_by_8"),
        (200_000, 684, "lanes_16_6_by_8"),
        (2480, 331, "lanes_32_2"),
        (20_000, 331, "lanes_8_6"),
        (6610, 157, "lanes_8_4"),
        (74_573, 235, "lanes_8_4"),
        (65_157, 1530, "lanes_32_6_by_4"),
        (8474, 436, "lanes_32_2_by_8"),
        (20_000, 436, "lanes_16_4_by_8"),
    ],
)
def test_cross_entropy_gives_lanes_about_as_many_packs_as_a_row_has(rows: int, cols: int, name: str) -> None:
    module = launcher("cross_entropy", "cuda_online")
    x = torch.empty(rows, cols, dtype=torch.bfloat16, device="meta")
    assert module.ring_of(rows, 2 * cols, math.gcd(2 * cols, 16), 132) is None
    assert module.short_kernel(rows, cols, x, 132)[0] == f"cross_entropy_{name}"


def test_cross_entropy_has_a_block_for_each_of_few_rows_of_some_kilobytes() -> None:
    """It asks for the row before it waits for the label."""
    launched: list[tuple[str, int, int]] = []

    class Program:
        architecture, multiprocessor_count = "sm_90a", 132

        def launch(self, name: str, grid: int, block: int, *_: object, **__: object) -> None:
            launched.append((name, grid, block))

    for rows, cols in ((44, 1925), (205, 1251), (63, 3423)):
        x = torch.empty(rows, cols, dtype=torch.bfloat16, device="meta")
        launcher("cross_entropy", "cuda_online").run(Program(), x, x)
    assert launched == [
        ("cross_entropy_block", rows, threads) for rows, threads in ((44, 128), (205, 128), (63, 256))
    ]


def test_cross_entropy_has_a_block_for_each_of_many_rows_of_some_kilobytes() -> None:
    launched: list[tuple[str, int, int]] = []

    class Program:
        architecture, multiprocessor_count = "sm_90a", 132

        def launch(self, name: str, grid: int, block: int, *_: object, **__: object) -> None:
            launched.append((name, grid, block))

    shapes = ((558, 2940), (2652, 6284), (2561, 3827), (13_784, 8192), (2506, 14_102), (265, 2561))
    for rows, cols in shapes:
        x = torch.empty(rows, cols, dtype=torch.bfloat16, device="meta")
        launcher("cross_entropy", "cuda_online").run(Program(), x, x)
    assert [(name.removeprefix("cross_entropy_"), threads) for name, _, threads in launched] == [
        *(("block_4", threads) for threads in (96, 224, 128, 256)),
        ("block", 448),
        ("block_4", 96),
    ]
    assert [rows for _, rows, _ in launched] == [rows for rows, _ in shapes]
    for (_, cols), (_, _, threads) in zip(shapes, launched, strict=True):
        assert threads * 4 * 16 >= 2 * cols  # four words of 16 bytes each
    text = source("cross_entropy", "cuda_online")
    assert "ONE_OF_512 512, 1\nSHORT_KERNEL(block_4, ONE_OF_512, short_row<BLOCK_GROUP, 4>)" in text


@pytest.mark.parametrize(("rows", "balanced"), [(1, False), (5, True), (9, True), (26, False)])
def test_cross_entropy_balances_large_clusters_that_nearly_fill_the_device(rows: int, balanced: bool) -> None:
    asked: list[dict[str, Any]] = []

    class Program:
        architecture, multiprocessor_count = "sm_90a", 132

        def launch(self, *_: object, **options: Any) -> None:
            asked.append(options)

    x = torch.empty(rows, 2**17, dtype=torch.bfloat16, device="meta")
    launcher("cross_entropy", "cuda_online").run(Program(), x, x)
    assert [options["balanced"] for options in asked] == [balanced]


def test_cross_entropy_holds_fewer_rows_in_registers() -> None:
    module, text = launcher("cross_entropy", "cuda_online"), source("cross_entropy", "cuda_online")
    assert module.held_rows(18, 2 * 38_248, 132) == (16, 1, 320)
    assert module.held_rows(9, 2 * 78_520, 132) == (16, 2, 320)
    assert module.held_rows(4, 2 * 147_316, 132) == (16, 3, 384)
    assert module.held_rows(5, 2 * 163_536, 132) == (16, 4, 320)
    assert module.held_rows(4, 2 * 293_809, 132) == (16, 6, 384)
    assert module.held_rows(57, 2 * 18_848, 132) == (8, 1, 320)
    assert module.held_rows(88, 2 * 83_784, 132) == (8, 4, 352)
    for rows, cols in ((25, 163_536), (19, 313_625), (99, 83_784)):  # all would not be at work at once
        assert module.held_rows(rows, 2 * cols, 132) is None
    for rows, cols in product((1, 2, 8, 16, 24, 131), (3, 4096, 12_289, 36_642, 2**18, 393_217, 2**22)):
        if chosen := module.held_rows(rows, 2 * cols, 132):
            blocks, packs, threads = chosen
            assert blocks in module.CLUSTERS[1:]
            assert f"HELD_KERNEL({packs})" in text
            assert threads in range(32, 513, 32)
            assert 2 * cols <= blocks * packs * threads * module.PACK_BYTES
            assert blocks * threads // 32 <= 256  # MOST_SENT of held_rows.cuh


def test_cross_entropy_spreads_few_rows_over_clusters() -> None:
    module = launcher("cross_entropy", "cuda_online")
    assert module.cluster_of_row(2, 2 * 36_642, 132) == (8, 192)
    assert module.cluster_of_row(32, 2 * 50_257, 132) == (8, 256)
    assert module.cluster_of_row(16, 2 * 131_072, 132) == (16, 256)
    assert module.cluster_of_row(20, 2 * 142_911, 132) == (16, 320)  # all packs under way at once
    assert module.cluster_of_row(66, 2 * 75_744, 132) == (8, 320)
    assert module.cluster_of_row(119, 2 * 75_744, 132) == (8, 192)  # of 320 threads each most would wait
    assert module.cluster_of_row(131, 2 * 30_001, 132) == (1, 512)
    assert module.cluster_of_row(237, 2 * 33_951, 132) == (1, 512)
    assert module.cluster_of_row(200, 2 * 50_000, 132) == (4, 256)
    assert module.cluster_of_row(133, 2 * 75_744, 132) is None
    assert module.cluster_of_row(100, 2 * 16_384, 132) == (1, 512)
    assert module.cluster_of_row(200, 2 * 4096, 132) == (1, 256)
    assert module.cluster_of_row(300, 2 * 20_000, 132) == (1, 256)
    for rows, cols in product((1, 2, 8, 16, 131, 200, 500, 529), (3, 4096, 5000, 36_642, 2**18, 2**22)):
        chosen = module.cluster_of_row(rows, 2 * cols, 132)
        if chosen is None:
            continue
        blocks, threads = chosen
        assert rows <= 528
        assert blocks in (1, *module.CLUSTERS)
        assert threads in range(64, 513, 64)
        assert 2 * cols <= (module.MOST_FULL_ALONE_BYTES if blocks == 1 else blocks * module.MOST_PART_BYTES)
