"""What cumsum chooses for rows of any length and number: a kernel that exists, and blocks that cover all."""

import re
from itertools import product

import pytest
import torch

from roofscope.kernels.shared.slab import SLAB_BYTES, Slab
from roofscope.tests.kernels.launchers import launcher, source

MULTIPROCESSORS = (1, 28, 132, 148)


@pytest.mark.parametrize("multiprocessors", MULTIPROCESSORS)
def test_cumsum_covers_rows_by_tiles_of_a_kernel_that_exists(multiprocessors: int) -> None:
    module, text = launcher("cumsum", "cuda_lookback"), source("cumsum", "cuda_lookback")
    assert "LARGE_THREADS = 512, LARGE_BLOCKS = __CUDA_ARCH__ == 900 ? 3 : 1;" in text
    kinds = dict(re.findall(r"#define (\w+)_KERNEL\((?:PACKS|LANES)\)[^#]*?cumsum_(\w+)_##", text))
    for rows, row_bytes, (is_hopper, has_rings) in product(
        (1, 2, 3, 4, 6, 8, 12, 16, 17, 38, 131, 1000, 70_001),
        (
            *(2, 70, 98, 160, 512, 1100, 2048, 9000, 24_000, 120_001, 229_376, 393_216, 393_232, 680_000),
            *(393_252, 786_452, 10**6, 1_376_256, 1_376_260, 1_572_880, 1_966_100, 2**21 + 4, 2_359_300),
            *(2_621_460, 3_145_728, 3_145_732, 2**22, 2**22 + 4, 5_406_720, 6_200_000, 25_165_824, 2**28),
        ),
        ((True, True), (True, False), (False, False)),
    ):
        chosen = module.choose(rows, row_bytes, multiprocessors, is_hopper=is_hopper, has_rings=has_rings)
        if chosen.name == "ring":
            tile = module.RING_TILE_BYTES
            assert (chosen.tiles - 1) * tile < row_bytes <= chosen.tiles * tile
            assert has_rings
            assert chosen.blocks <= multiprocessors
            assert rows * row_bytes >= (module.LEAST_RING_BYTES if rows > 1 else module.LEAST_RING_ROW_BYTES)
            continue
        kind, _, packs = chosen.name.rpartition("_")
        assert kind in kinds.values()
        assert f"{kind.upper()}_KERNEL({packs})" in text
        assert (chosen.cluster > 1) == (kind == "cluster")
        if kind == "lanes":
            assert row_bytes <= int(packs) * module.PACK_BYTES
            assert chosen.blocks * chosen.threads >= rows * int(packs)
        elif kind in ("warp", "neighbours"):
            assert row_bytes <= int(packs) * module.WARP * module.PACK_BYTES
            assert chosen.blocks * module.WARPS >= rows
        elif kind in ("lookback", "resident", "resident_large"):
            is_large = kind == "resident_large"
            assert chosen.blocks == rows * chosen.tiles
            assert chosen.threads == (module.LARGE_THREADS if is_large else module.THREADS)
            tile = int(packs) * chosen.threads * module.PACK_BYTES
            assert (chosen.tiles - 1) * tile < row_bytes <= chosen.tiles * tile
            # Blocks of a resident kernel wait for one another without a counter: all have room at once.
            at_once = multiprocessors * (3 if is_large else module.BLOCKS_AT_ONCE if is_hopper else 1)
            assert (kind != "lookback") == (chosen.blocks <= at_once)
        elif kind == "cluster":
            assert is_hopper
            assert chosen.blocks == rows * chosen.parts * chosen.cluster
            assert chosen.threads % module.WARP == 0
            assert chosen.threads <= max(threads for threads, *_ in module.SHARES)
            held = chosen.threads * int(packs) * module.PACK_BYTES
            assert chosen.cluster // 2 * held < row_bytes <= chosen.parts * chosen.cluster * held
            # The last cluster has something, so that all packs before its part are whole but the first one.
            assert (chosen.parts - 1) * chosen.cluster * held <= row_bytes - 2 * module.PACK_BYTES
        else:
            assert chosen.blocks == rows


def test_cumsum_gives_warps_rows_that_begin_anywhere() -> None:
    module, text = launcher("cumsum", "cuda_lookback"), source("cumsum", "cuda_lookback")
    assert module.by_columns(2, 128) is None
    assert module.by_columns(2049, 511) is None
    assert module.by_columns(482, 2049) is None
    for cols in (129, 256, 257, 512, 513, 1024, 1025, 2048):
        chosen = module.by_columns(482, cols)
        warps, each = map(int, chosen.name.split("_")[1:])
        assert f"COLUMNS_KERNEL({warps}, {each})" in text
        assert (chosen.blocks, chosen.threads) == (482, 32 * warps)
        assert cols <= chosen.threads * each


def test_cumsum_gives_a_block_just_enough_warps() -> None:
    module, text = launcher("cumsum", "cuda_lookback"), source("cumsum", "cuda_lookback")
    assert module.held_of(528, 2048) is None
    assert module.held_of(1056, 1024) is None
    assert module.held_of(2048, 512) is None
    assert module.held_of(5000, 384) is None
    assert module.held_of(5000, 8189) is None
    for cols in (513, 1024, 1280, 1281, 2049, 4096, 4999, 5000, 5001, 8185, 8188):
        chosen = module.held_of(3001 if cols < 2049 else 1, cols)
        packs = int(chosen.name.removeprefix("held_"))
        assert f"HELD_KERNEL({packs})" in text
        room = chosen.threads * packs * 4
        assert chosen.threads <= module.HELD_WARPS * 32
        # A row may begin with the last element of a pack.
        assert room - packs * 128 < cols + (3 if cols % 4 else 0) <= room


def test_a_warp_has_rows_of_cumsum_alone_only_where_they_are_many() -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    module = launcher("cumsum", "triton_tiles")
    for rows, width, element_bytes in product((1, 72, 1023, 1024, 28_954), (16, 64, 256, 512, 1024), (2, 4)):
        tile = module.TILE_BYTES // element_bytes
        most = min(tile // width, 1 << (rows - 1).bit_length())
        height, warps = module.tile_of(rows, width, most, element_bytes)
        assert 1 <= height <= max(most, 1)
        assert warps in (1, 2, 4, 8)
        if rows >= module.MANY_ROWS and width >= 256 and width * element_bytes <= 2048:
            assert (height, warps) == (max(1024 // width, 1), 1)
        elif width >= 256 and rows < module.FEW_PROGRAMS:
            assert (height, warps) == (1, min(width // 128, 8))


def test_cumsum_gives_threads_rows_that_fit_lanes_badly() -> None:
    module = launcher("cumsum", "cuda_lookback")

    def slab(rows: int, cols: int, dtype: torch.dtype) -> Slab | None:
        return module.slab_of_rows(torch.empty(rows, cols, dtype=dtype, device="meta"))

    many = ((700_001, 4), (400_001, 8), (300_001, 24), (200_000, 40), (50_001, 100), (50_001, 101))
    for rows, cols in many:
        found = slab(rows, cols, torch.float32)
        assert found is not None
        assert found.shared_bytes <= SLAB_BYTES
    other = ((400_001, 16), (400_001, 32), (60_001, 64), (200_001, 96), (30_001, 20), (50_001, 132))
    for rows, cols in other:
        assert slab(rows, cols, torch.float32) is None
    assert slab(400_001, 24, torch.bfloat16) is None
