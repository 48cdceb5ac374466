"""What transposes, maps, copies and sums choose where there is little to do: programs for all of the GPU."""

from itertools import product

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.tests.kernels.launchers import launcher, source

MULTIPROCESSORS = (1, 28, 132, 148)


@pytest.mark.parametrize("multiprocessors", MULTIPROCESSORS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_parts_of_a_transpose_fit_a_block_and_cover_the_matrix(
    multiprocessors: int, dtype: torch.dtype
) -> None:
    module, text = launcher("transpose", "cuda_swizzled"), source("transpose", "cuda_swizzled")
    pack = module.PACK_BYTES // dtype.itemsize
    launched: list[tuple[str, int, int, tuple[int, ...], int]] = []

    class Program:
        def launch(
            self, name: str, grid: int, block: int, *arguments: int, shared_bytes: int, overlaps: bool
        ) -> None:
            launched.append((name, grid, block, arguments[2:], shared_bytes))

    few, many = (*range(2, 70), 150, 317, 384, 385, 513), (2053, 65_537, 2**20, 2**26)
    for rows, cols in (*product(few, many), *product(many, few)):
        x = torch.empty(1, dtype=dtype).expand(rows, cols)
        part = module.pitched_part(rows, cols, pack, multiprocessors)
        module.launch_pitched(Program(), x, x.t(), *part)
        name, grid, block, arguments, shared_bytes = launched.pop()
        height, width, pitch, is_wide, shorter = arguments[2:7]
        slots, along, beside = arguments[9], arguments[12], arguments[15]
        assert f"PITCHED_KERNEL({name.removeprefix('transpose_')}, " in text
        assert block <= module.PITCHED_THREADS
        assert shared_bytes <= 64 << 10  # what every GPU has
        down, across = -(-rows // height), -(-cols // width)
        assert (grid, shorter, is_wide) == (down * across, min(down, across), across > down)
        if name == "transpose_whole_rows":
            assert (width, pitch, height % pack) == (cols, cols, 0)
            assert block >= along * cols
            continue
        assert pitch % pack == cols % pack
        assert pitch >= slots * pack >= width + pack - 1  # at any alignment
        assert block >= slots
        if name == "transpose_pitched":
            assert height % pack == beside % pack == 0
            assert block >= along * beside
            assert along * pack == height
        else:
            assert (height, width % pack) == (rows, 0)
            assert block >= rows * beside


def test_thin_transposes_in_triton_are_spread_over_the_gpu() -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    module = launcher("transpose", "triton_tiles")
    for side, few, many in product((64, 128), (1, 2, 3, 8, 14, 16), (5000, 51_986, 125_952, 977_620, 2**24)):
        height, width = module.tile_of(few, many, side)
        assert module.tile_of(many, few, side) == (width, height)
        assert few <= height < 2 * few
        assert height * width <= side * side
        assert -(-many // width) >= module.FEWEST_THIN_TILES or height * width <= module.SMALLEST_SIDES * side


def test_small_transposes_in_triton_have_small_tiles() -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    module = launcher("transpose", "triton_tiles")
    assert module.tile_of(73, 271, 64) == (32, 16)
    assert module.tile_of(271, 73, 64) == (16, 32)
    assert module.tile_of(21, 1009, 64) == (32, 16)
    assert module.tile_of(1000, 1000, 64) == (32, 32)


def test_runs_in_triton_are_of_so_many_elements_only() -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    run_of = launcher("rope", "triton_tiles").run_of
    assert [run_of(pairs, 42) for pairs in (2**17, 2**17 + 1, 2**19, 2**19 + 1)] == [128, 256, 256, 0]
    assert [run_of(pairs, 64) for pairs in (2**18, 2**18 + 1)] == [512, 0]
    is_run = launcher("dequantize_int8", "triton_tiles").is_run
    assert [is_run(42 * 2645, 2645), is_run(600_001, 600_001), is_run(0, 3)] == [True, True, False]
    assert [is_run(9 * 25_168, 25_168), is_run(2**16, 4), is_run(2**18, 1024)] == [False, False, False]
    assert [is_run(5 * 2**19, 40), is_run(5 * 2**19 + 40, 40)] == [True, False]
    assert [is_run(rows * 749, 749) for rows in (639, 80_001, 2_867_134)] == [True, True, False]
    assert [is_run(rows * 1072, 1072) for rows in (489, 490, 1956, 1957)] == [False, True, True, False]
    assert [is_run(2**19 + more, 4) for more in (0, 4, 2**19, 2**19 + 4)] == [False, True, True, False]
    assert [is_run(3 * 2**18, cols) for cols in (1, 2, 8, 16)] == [False, False, True, False]


def test_maps_in_triton_are_spread_where_arrays_are_small() -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    maps = load_module(LIBRARY / "shared" / "maps.py")
    for array_bytes, element_bytes, arrays in product(
        (4096, 2**19, 2**20, 2**22, 2**23, 2**26), (2, 4), (2, 3, 7)
    ):
        tile, warps, hint = maps.tile_of(array_bytes, element_bytes, arrays)
        small = array_bytes <= maps.SMALL
        unhinted = array_bytes <= (2**23 if arrays > 3 else 2**22)
        large = not unhinted and arrays == 2 and element_bytes == 4 and array_bytes <= maps.MOST_COPY_BYTES
        assert tile * element_bytes == (1024 if small else 4096 if large else 2048)
        assert warps == (8 if small or (unhinted and (element_bytes == 2 or arrays > 3)) else 4)
        assert (hint == "") == (unhinted and not (small and element_bytes == 2))


def test_sums_of_few_rows_in_triton_are_spread_over_the_gpu() -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    module = load_module(LIBRARY / "shared" / "sum_tiles.py")
    for rows, cols in product((1, 20, 698, 2053, 17_332, 1_000_003), (9, 39, 52, 64, 101, 200, 1024, 9001)):
        height, width, warps = module.sum_tile(rows, cols)
        assert width >= min(cols, module.WIDEST)
        programs, tile = -(-rows // height), height * width
        assert width <= tile <= max(module.TILE, width)
        assert height < 2 * rows
        assert warps in (1, 2, 4)
        if width in module.NARROW_WIDTHS and rows >= module.FEWEST_NARROW:
            assert warps == 4
            assert tile == 512 or programs >= 40
            assert tile >= 1024 or programs < 80
        elif programs < module.ENOUGH_PROGRAMS:
            assert height == 1 or tile <= module.SMALLEST_TILE
        if programs < module.MANY_PROGRAMS and cols <= width:
            assert height == 1 or tile <= module.SMALL_TILE
        assert tile <= 1024 * warps
        if cols % 2 and width in module.ODD_WIDTHS:
            assert warps == 1
        if cols in (39, 52, 101):
            assert tile <= module.PADDED_TILE
    assert module.ROWS_OF_PROGRAM == 32 * module.WARPS_OF_PROGRAM


def test_rows_of_a_weighted_sum_that_programs_walk_along() -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    module = launcher("weighted_sum", "triton_row_tiles")
    unwalked = ((23, 4440), (4834, 3981), (189, 11_592), (300, 81_924), (131, 8174), (576, 1746))
    assert not any(module.pays_to_walk(rows, cols) for rows, cols in unwalked)
    steps = {
        (2048, 16): ((28, 4440), (4834, 3980), (442, 63_120), (264, 11_592), (177, 2556), (396, 7092)),
        (1024, 8): ((5075, 2356), (140, 1884), (503, 7092), (665, 4242)),
        (1024, 16): ((7183, 8436),),
    }
    for step, shapes in steps.items():
        for rows, cols in shapes:
            assert module.pays_to_walk(rows, cols)
            assert module.walked_tile(rows, cols) == step
    assert module.walked_tile(3000, 6230) == (2048, 16)  # accesses of 8 bytes
    assert module.short_tile(2023, 592) == (1, 1024, 4)
    assert module.short_tile(2023, 593) is module.short_tile(2023, 512) is None
    assert module.short_tile(7421, 16) == (64, 16, 4)
    assert module.short_tile(957, 21) == (16, 32, 4)


def test_rows_of_a_sum_that_programs_walk_along() -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    pays = launcher("row_sum", "triton_pieces").pays_to_walk
    assert [pays(5038, cols) for cols in (3584, 3875, 8192, 8193)] == [False, True, True, False]
    assert [pays(rows, 5107) for rows in (131, 132, 461)] == [False, True, True]
    assert [pays(999, cols) for cols in (16_383, 16_385, 24_576, 24_578)] == [True, False, True, False]
    assert [pays(rows, 21_136) for rows in (263, 264, 1000)] == [False, True, False]


def test_a_copy_of_more_than_a_wave_is_one_of_two_packs_a_thread() -> None:
    module, text = launcher("copy", "cuda_packed"), source("copy", "cuda_packed")
    launched: list[tuple[str, int, int]] = []

    class Program:
        multiprocessor_count = 132

        def launch(self, name: str, grid: int, block: int, *_: object, **__: object) -> None:
            launched.append((name, grid, block))

    wave = 132 * module.THREADS_AT_ONCE * 4  # elements
    for n, each in ((1, 1), (wave, 1), (wave + 1, 2), (1_655_168, 2), (2 * wave, 2), (2 * wave + 1, 1)):
        module.run(Program(), torch.empty(n))
        name, blocks, threads = launched.pop()
        assert name == f"copy_{each}"
        assert f"COPY_KERNEL({each})" in text
        assert (blocks - 1) * threads * each * 4 < n <= blocks * threads * each * 4
