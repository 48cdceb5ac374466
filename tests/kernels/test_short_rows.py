"""What launchers choose for rows of any length and number: a kernel that holds one, and blocks for all."""

import math
import re
from itertools import product
from types import ModuleType
from typing import Any

import pytest
import torch

from roofscope.kernels.shared import norm_lanes
from roofscope.kernels.shared.slab import SLAB_BYTES, Slab, Space, slab_of
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.tests.kernels.cases import CATALOG

MULTIPROCESSORS = (1, 28, 132, 148)
COLUMNS = (*range(1, 70), 100, 128, 129, 255, 256, 301, 513, 1023, 1024, 1025, 2047, 4093, 9001, 70_001)


ONES = (LIBRARY / "shared" / "ones.cuh").read_text()


def launcher(kernel: str, stem: str) -> ModuleType:
    found = CATALOG.kernel(kernel)
    assert found is not None
    return load_module(found.folder / f"{stem}.py")


def source(kernel: str, stem: str) -> str:
    found = CATALOG.kernel(kernel)
    assert found is not None
    return (found.folder / f"{stem}.cu").read_text()


@pytest.mark.parametrize("multiprocessors", MULTIPROCESSORS)
def test_cumsum_covers_rows_by_tiles_of_a_kernel_that_exists(multiprocessors: int) -> None:
    module, text = launcher("cumsum", "cuda_lookback"), source("cumsum", "cuda_lookback")
    kinds = dict(re.findall(r"#define (\w+)_KERNEL\((?:PACKS|LANES)\)[^#]*?cumsum_(\w+)_##", text))
    for rows, row_bytes, is_hopper in product(
        (1, 2, 3, 4, 6, 8, 12, 16, 17, 38, 131, 1000, 70_001),
        (
            *(2, 70, 98, 160, 512, 1100, 2048, 9000, 24_000, 120_001, 229_376, 393_216, 393_232, 680_000),
            *(393_252, 786_452, 10**6, 1_376_256, 1_376_260, 1_572_880, 1_966_100, 2**21 + 4, 2_359_300),
            *(2_621_460, 3_145_728, 3_145_732, 2**28),
        ),
        (True, False),
    ):
        ring = module.choose(rows, row_bytes, multiprocessors, is_hopper=is_hopper, has_rings=True)
        chosen = module.choose(rows, row_bytes, multiprocessors, is_hopper=is_hopper, has_rings=False)
        if ring != chosen:
            tile = module.RING_TILE_BYTES
            assert (ring.tiles - 1) * tile < row_bytes <= ring.tiles * tile
            assert ring.name == "ring"
            assert ring.blocks <= multiprocessors
            assert rows * row_bytes >= module.LEAST_RING_BYTES
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
        elif kind in ("lookback", "resident"):
            assert chosen.blocks == rows * chosen.tiles
            tile = int(packs) * module.THREADS * module.PACK_BYTES
            assert (chosen.tiles - 1) * tile < row_bytes <= chosen.tiles * tile
            # Blocks of a resident kernel wait for one another without a counter: all have room at once.
            at_once = multiprocessors * (module.BLOCKS_AT_ONCE if is_hopper else 1)
            assert (kind == "resident") == (chosen.blocks <= at_once)
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


def test_runs_in_triton_are_of_few_elements_only() -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    run_of = launcher("rope", "triton_tiles").run_of
    assert [run_of(pairs, 42) for pairs in (2**17, 2**17 + 1, 2**19, 2**19 + 1)] == [128, 256, 256, 0]
    assert [run_of(pairs, 64) for pairs in (2**18, 2**18 + 1)] == [512, 0]
    is_run = launcher("dequantize_int8", "triton_tiles").is_run
    assert [is_run(42 * 2645, 2645), is_run(300_001, 300_001), is_run(0, 3)] == [True, False, False]
    assert [is_run(9 * 25_168, 25_168), is_run(2**16, 4), is_run(2**18, 1024)] == [False, False, False]
    assert [is_run(2**19, 40), is_run(2**19 + 8, 40)] == [True, False]


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
    for rows, cols in product((1, 20, 698, 2053, 17_332, 1_000_003), (9, 39, 64, 101, 200, 1024, 9001)):
        height, width, warps = module.sum_tile(rows, cols)
        assert width >= min(cols, module.WIDEST)
        programs, tile = -(-rows // height), height * width
        assert width <= tile <= max(module.TILE, width)
        assert height < 2 * rows
        assert warps in (1, 2, 4)
        if programs < module.ENOUGH_PROGRAMS:
            assert height == 1 or tile <= module.SMALLEST_TILE
        if programs < module.MANY_PROGRAMS and cols <= width:
            assert height == 1 or tile <= module.SMALL_TILE
        assert tile <= 1024 * warps
        if cols % 2 and width in module.ODD_WIDTHS:
            assert warps == 1
    assert module.ROWS_OF_PROGRAM == 32 * module.WARPS_OF_PROGRAM


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_slab_of_short_rows_fits_a_block(dtype: torch.dtype) -> None:
    pack = 16 // dtype.itemsize
    for rows, cols in product((1, 4095, 4096, 70_001), COLUMNS):
        x = torch.empty(rows, cols, dtype=dtype)
        found = slab_of(x, 256, 4096)
        if cols * dtype.itemsize > 256 or rows < 4096 or cols % pack == 0:
            assert found is None
        if found is None:
            continue
        assert cols % found.width == 0
        assert cols // found.width % 2  # lanes in different banks
        assert found.threads % pack == 0  # rows of a block begin on 16 bytes
        assert found.blocks * found.threads >= rows
        assert found.threads in (64, 128, 256)
        assert found.threads * cols * dtype.itemsize <= found.shared_bytes <= SLAB_BYTES
        two = slab_of(x, 256, 4096, Space(slabs=2, code_bytes=1, column_floats=2))
        assert two is not None
        assert two.shared_bytes == two.threads * cols * (2 * dtype.itemsize + 1) + 8 * cols
        assert two.shared_bytes <= SLAB_BYTES + 8 * cols
    assert slab_of(torch.empty(5000 * 9 + 1, dtype=dtype)[1:].view(5000, 9), 256, 4096) is None


# Kernels with a thread for each short row, or for two packs; and their other inputs, like x or of columns.
SHORT_ROWS = (
    *(("softmax", "cuda_registers", ""), ("rms_norm", "cuda_registers", "c")),
    *(("layer_norm", "cuda_registers", "cc"), ("add_rms_norm", "cuda_registers", "xc")),
    *(("softmax_backward", "cuda_registers", "x"), ("rms_norm_quantize_fp8", "cuda_registers", "c")),
    *(("quantize_int8", "cuda_registers", ""), ("weighted_sum", "cuda_row", "c")),
)


def assert_takes_loose_rows(
    text: str, taken: tuple[str, int, int, int], rows: int, cols: int, size: int
) -> None:
    """A kernel of this source for rows that begin on no 16 bytes, which holds one, and blocks for all."""
    name, blocks, threads, shared_bytes = taken
    found = re.fullmatch(r".*_(held|slab|ones|elements)_(\d+)_(by_)?(\d+)", name)
    assert found is not None
    kind, first, second = found[1], int(found[2]), int(found[4])
    lanes = {"held": 1, "slab": second}.get(kind, first)
    assert threads % lanes == 0
    assert blocks == -(-rows * lanes // threads)
    assert size == 2 or kind == "elements" or (kind, lanes) == ("slab", 1)
    if kind == "held":
        assert f"HELD_KERNELS({first})" in text
        assert cols <= first + (second == 1)
    elif kind == "slab":
        assert f"SLAB_KERNEL({first}" in text
        assert f"SLAB_KERNELS({lanes})" in text or (lanes == 1 and f"SLAB_KERNEL({first})" in text)
        assert "NormRow" not in text or size == 4 or cols - cols % 2 <= 16 * lanes
    elif kind == "ones":
        assert f"ONES(KERNEL, {name.partition('_ones_')[0]}, " in text
        assert f"_ones_{first}_by_##BYTES, {first}, 1, " in ONES
        assert f"ONES_BY(KERNEL, NAME, BLOCKS, {second})" in ONES
        assert cols <= 8 * lanes
        assert second == math.gcd(16, cols * size)
    else:
        assert f"ELEMENTS({lanes}, {second})" in text or f"SHORT_KERNEL({lanes}, {second})" in text
        assert cols <= lanes * second
    if kind in ("held", "slab"):
        assert cols % (second if kind == "held" else first) == 0
        assert threads // lanes * size % 16 == 0  # blocks begin on 16 bytes
        assert shared_bytes >= threads // lanes * cols * size


@pytest.mark.parametrize(("kernel", "stem", "others"), SHORT_ROWS)
def test_very_many_short_rows_have_a_thread_or_few_lanes_each(kernel: str, stem: str, others: str) -> None:
    module, text = launcher(kernel, stem), source(kernel, stem)
    launched: list[tuple[str, int, int, int]] = []

    class Program:
        multiprocessor_count, architecture = 132, "sm_90a"

        def launch(
            self, name: str, grid: int, block: int, *_: object, shared_bytes: int = 0, **__: object
        ) -> None:
            launched.append((name, grid, block, shared_bytes))

    rows = 2**18
    for cols, dtype in product(
        (5, 6, 7, 8, 12, 15, 16, 20, 24, 31, 40, 63, 64), (torch.float32, torch.bfloat16)
    ):
        size = dtype.itemsize
        x = torch.empty(rows, cols, dtype=dtype)
        beside = [torch.empty(cols, dtype=dtype) if of == "c" else torch.empty_like(x) for of in others]
        module.run(Program(), x, *beside)
        name, blocks, threads, _ = taken = launched.pop()
        assert not launched
        packed = cols * size % 16 == 0
        if name == f"weighted_sum_few_columns_{cols}":
            assert cols <= module.MOST_FEW_COLUMNS
        elif cols * size <= 128 and not packed:
            assert_takes_loose_rows(text, taken, rows, cols, size)
        elif packed and cols * size <= 256:
            kind, lanes = re.fullmatch(r".*_(pairs|lanes)_(\d+)", name).groups()  # type: ignore[union-attr]
            assert cols * size // 16 <= int(lanes) * (2 if kind == "pairs" else 1)
            assert blocks * threads >= rows * int(lanes)
            assert (
                f"_{kind}_{lanes}, " in text
                or f"{kind}_{lanes}, " in text
                or f"PAIRS_KERNEL({lanes})" in text
            )


@pytest.mark.parametrize(("kernel", "stem", "others"), SHORT_ROWS[:6])
def test_lanes_of_few_short_rows_have_a_pack_each(kernel: str, stem: str, others: str) -> None:
    """A warp a row would be many blocks of lanes that have nothing; packs of the shortest, few blocks."""
    module, text = launcher(kernel, stem), source(kernel, stem)
    launched: list[tuple[str, int, int]] = []

    class Program:
        multiprocessor_count, architecture = 132, "sm_90a"

        def launch(self, name: str, grid: int, block: int, *_: object, **__: object) -> None:
            launched.append((name, grid, block))

    for rows, packs in product((129, 4015, 4096), (1, 2, 3, 4, 5, 8, 9)):
        x = torch.empty(rows, packs * 8, dtype=torch.bfloat16)
        beside = [x.new_empty(packs * 8) if of == "c" else torch.empty_like(x) for of in others]
        module.run(Program(), x, *beside)
        name, blocks, threads = launched.pop()
        group = name.removeprefix(kernel.removesuffix("_fp8") + "_")
        if packs > 8:
            assert group == "warp_1"
            continue
        if packs <= 2 and "KERNEL_OF_ELEMENTS(" in text:
            assert math.prod(map(int, group.removeprefix("elements_").split("_"))) == packs * 8
            continue
        lanes = int(group.removeprefix("pairs_"))
        assert packs <= lanes < 2 * packs
        assert f"{lanes}, 2, " in text or f"_pairs_{lanes}" in text
        assert (blocks - 1) * threads < rows * lanes <= blocks * threads


@pytest.mark.parametrize(
    ("rows", "cols", "kernel"),
    [
        *((5003, 512, "lanes_16"), (5003, 520, "lanes_32_3"), (3, 768, "lanes_32_3")),
        *((5003, 776, "lanes_32"), (5003, 664, "lanes_32_3"), (5003, 666, "lanes_32_by_4")),
    ],
)
def test_lanes_of_softmax_have_three_packs_where_those_hold_a_row(rows: int, cols: int, kernel: str) -> None:
    module, text = launcher("softmax", "cuda_registers"), source("softmax", "cuda_registers")
    launched: list[tuple[str, int, int]] = []

    class Program:
        multiprocessor_count, architecture = 132, "sm_90a"

        def launch(self, name: str, grid: int, block: int, *_: object, **__: object) -> None:
            launched.append((name, grid, block))

    module.run(Program(), torch.empty(rows, cols, dtype=torch.bfloat16))
    ((name, blocks, threads),) = launched
    assert name == f"softmax_{kernel}"
    lanes = int(kernel.split("_")[1])
    assert (blocks - 1) * threads < rows * lanes <= blocks * threads
    packs = 3 if kernel.endswith("_3") else 4
    assert kernel.endswith("_by_4") or f"KERNEL({name}, {lanes}, {packs}, {threads}, " in text


@pytest.mark.parametrize(("kernel", "stem", "others"), SHORT_ROWS[:5])
def test_loose_rows_of_any_number_have_lanes_enough(kernel: str, stem: str, others: str) -> None:
    module, text = launcher(kernel, stem), source(kernel, stem)
    launched: list[tuple[str, int, int, int]] = []

    class Program:
        multiprocessor_count, architecture = 132, "sm_90a"

        def launch(
            self, name: str, grid: int, block: int, *_: object, shared_bytes: int = 0, **__: object
        ) -> None:
            launched.append((name, grid, block, shared_bytes))

    kinds = set[str]()
    for rows, cols in product(
        (67, 2047, 2049, 20_011, 60_001, 400_001), (*range(1, 132), 177, 255, 256, 257)
    ):
        if cols % 8 == 0:
            continue
        x = torch.empty(rows, cols, dtype=torch.bfloat16, device="meta")
        beside = [x.new_empty(cols) if of == "c" else torch.empty_like(x) for of in others]
        module.run(Program(), x, *beside)
        taken = launched.pop()
        if found := re.search(r"_(held|slab|ones|elements|short)_", taken[0]):
            kinds.add(found[1])
            assert_takes_loose_rows(
                text, (taken[0].replace("_short_", "_elements_"), *taken[1:]), rows, cols, 2
            )
    assert kinds & {"slab", "held"}
    assert "ones" in kinds


@pytest.mark.parametrize(("kernel", "stem", "others"), SHORT_ROWS[:4])
def test_rows_that_would_go_by_elements_go_by_words(kernel: str, stem: str, others: str) -> None:
    """Of nine columns on, where all begin on a word; unless slabs take them."""
    module = launcher(kernel, stem)
    launched: list[str] = []

    class Program:
        multiprocessor_count, architecture = 132, "sm_90a"

        def launch(self, name: str, *_: object, **__: object) -> None:
            launched.append(name.removeprefix(f"{kernel}_"))

    for (rows, cols), expected in {
        **dict.fromkeys([(4808, 10), (4808, 14), (7, 10)], "ones_4_by_4"),
        (4808, 12): "ones_4_by_8",
        (4808, 6): "elements_2_4",
        (4808, 11): "elements_4_4",
        (262_144, 10): "held_16_2" if kernel == "softmax" else "slab_2_1",
    }.items():
        x = torch.empty(rows, cols, dtype=torch.bfloat16, device="meta")
        module.run(Program(), x, *(x.new_empty(cols) if of == "c" else torch.empty_like(x) for of in others))
        assert launched.pop() == expected


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


@pytest.mark.parametrize(
    ("rows", "cols", "kernels"),
    [
        (76, 884, ["apart_2"]),
        (128, 2048, ["apart_4"]),
        (128, 512, ["apart_1"]),
        (1, 1, ["apart_1"]),
        (129, 884, ["skewed_128", "columns"]),
        (100, 2049, ["skewed_512", "columns"]),
        (5, 0, []),
    ],
)
def test_the_gradient_of_few_short_rows_is_one_kernel(rows: int, cols: int, kernels: list[str]) -> None:
    module, text = launcher("rms_norm_backward", "cuda_lanes"), source("rms_norm_backward", "cuda_lanes")
    launched: list[tuple[str, Any, Any]] = []

    class Program:
        multiprocessor_count = 132

        def launch(self, name: str, grid: Any, block: Any, *_: object, **__: object) -> None:
            launched.append((name.removeprefix("rms_norm_backward_"), grid, block))

    x, w = (torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in ((rows, cols), (cols,)))
    module.run(Program(), x, x, w, torch.empty(rows, device="meta"))
    assert [name for name, *_ in launched] == kernels
    for name, grid, block in launched:
        if name.startswith("apart"):
            each = int(name.rpartition("_")[2])
            assert f"APART_KERNEL({each})" in text
            assert grid == rows + -(-cols // 32)
            assert block * each >= cols
            assert block == 512
    few = (LIBRARY / "rms_norm_backward" / "apart.cuh").read_text()
    at_once = re.search(r"APART_ROWS = (\d+);", few)
    assert at_once is not None
    assert int(at_once[1]) * module.APART_THREADS // 32 >= module.MOST_ROWS


@pytest.mark.parametrize(("rows", "balanced"), [(1, False), (5, True), (8, True), (9, False)])
def test_cross_entropy_balances_large_clusters_that_nearly_fill_the_device(rows: int, balanced: bool) -> None:
    asked: list[dict[str, Any]] = []

    class Program:
        architecture, multiprocessor_count = "sm_90a", 132

        def launch(self, *_: object, **options: Any) -> None:
            asked.append(options)

    x = torch.empty(rows, 2**17, dtype=torch.bfloat16, device="meta")
    launcher("cross_entropy", "cuda_online").run(Program(), x, x)
    assert asked == [{"cluster": 16, "overlaps": True, "balanced": balanced}]


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


def test_lanes_of_rows_on_narrow_accesses_hold_a_row() -> None:
    launched: list[tuple[str, int, int]] = []

    class Program:
        multiprocessor_count = 132

        def launch(self, name: str, grid: int, block: int, *_: object, **__: object) -> None:
            launched.append((name, grid, block))

    for rows, cols in product((1, 700, 100_000), (2, 4, 6, 42, 84, 130, 196, 252, 254, 256)):
        launched.clear()
        dy, x, dx = (torch.empty(rows, cols, dtype=torch.bfloat16) for _ in range(3))
        inputs = (dy, x, torch.empty(cols, dtype=torch.bfloat16))
        norm_lanes.launch_lanes(Program(), "rms_norm_backward", inputs, dx, torch.empty(cols))  # type: ignore[arg-type]
        name = launched[0][0]
        access = math.gcd(16, 2 * cols)
        assert name.removeprefix("rms_norm_backward_").startswith(
            "packed" if access == 16 else f"by_{access}_"
        )
        assert cols <= int(name.rpartition("_")[2]) * 8 <= 2 * cols + 16


@pytest.mark.parametrize(
    ("rows", "width", "tile"),
    [
        (34, 1024, (1, 8)),
        (338, 1024, (1, 8)),
        (1024, 1024, (1, 8)),
        (161, 512, (1, 4)),
        (512, 2048, (1, 16)),
        (1025, 1024, (1, 4)),
        (9000, 512, (2, 1)),
        (100, 256, (1, 1)),
        (768, 4096, (1, 16)),
        (321, 5260, (1, 16)),
    ],
)
def test_few_rows_of_the_gradient_of_softmax_have_more_warps(
    rows: int, width: int, tile: tuple[int, int]
) -> None:
    assert launcher("softmax_backward", "triton_registers").tile_of(rows, width) == tile


def test_blocks_of_skewed_rows_come_by_as_many_as_rows_begin_alike() -> None:
    """Each has rows of one skew, and all together have every row."""
    launched: list[tuple[str, int, int]] = []

    class Program:
        multiprocessor_count = 132

        def launch(self, name: str, grid: int, block: int, *_: object, **__: object) -> None:
            launched.append((name, grid, block))

    for rows, cols in product((1, 7, 73, 5000), (259, 513, 923, 3473, 4089)):
        launched.clear()
        dy, x, dx = (torch.empty(rows, cols, dtype=torch.bfloat16) for _ in range(3))
        norm_lanes.launch_lanes(Program(), "rms_norm_backward", (dy, x), dx, torch.empty(cols))  # type: ignore[arg-type]
        name, blocks, threads = launched[0]
        group = int(name.rpartition("_")[2])
        assert blocks % 8 == 0
        assert threads % group == 0
        assert cols + 7 <= group * 8


@pytest.mark.parametrize(("kernel", "stem"), [("row_sum", "cuda_pieces"), ("weighted_sum", "cuda_row")])
def test_warps_of_some_rows_hold_their_columns_and_cover_all_rows(kernel: str, stem: str) -> None:
    module, text = launcher(kernel, stem), source(kernel, stem)
    for rows, cols in product((1, 1057, 8192, 8193, 70_001), (65, 128, 129, 256, 257, 512)):
        name, blocks = module.columns_of(rows, cols, 4)
        each, together = map(int, name.removeprefix(f"{kernel}_columns_").split("_"))
        assert f"COLUMNS_KERNEL({each}, {together})" in text
        assert cols <= each * module.WARP <= 2 * cols
        assert (blocks - 1) * module.WARPS * together < rows <= blocks * module.WARPS * together
        assert module.columns_of(rows, cols, 2) is None
    assert module.columns_of(70_001, 1025, 4) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("kernel", "stem"), [("row_sum", "cuda_pieces"), ("weighted_sum", "cuda_row")])
def test_threads_have_whole_words_of_many_rows_of_a_few_columns(
    kernel: str, stem: str, dtype: torch.dtype
) -> None:
    module, text = launcher(kernel, stem), source(kernel, stem)
    launched: list[tuple[str, int, int]] = []

    class Program:
        multiprocessor_count = 132

        def launch(self, name: str, grid: int, block: int, *_: object, **__: object) -> None:
            launched.append((name, grid, block))

    each = 16 // dtype.itemsize
    for rows, cols in product((2**16, 70_001, 2**18, 1_018_357), range(1, 7)):
        x = torch.empty(rows * cols + 1, dtype=dtype)
        beside = [x.new_empty(cols)] if kernel == "weighted_sum" else []
        module.run(Program(), x[:-1].view(rows, cols), *beside)
        module.run(Program(), x[1:].view(rows, cols), *beside)  # begins on no 16 bytes
        loose, (name, blocks, threads) = launched.pop(), launched.pop()
        assert "few_columns" not in loose[0]
        if cols > module.MOST_FEW_COLUMNS or rows < each * module.FEWEST_THREADS:
            assert "few_columns" not in name
            continue
        assert name == f"{kernel}_few_columns_{cols}"
        assert f"FEW_COLUMNS_KERNEL({cols})" in text
        assert f"__launch_bounds__({threads}) {kernel}_few_columns" in text
        assert (blocks - 1) * threads * each < rows <= blocks * threads * each


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


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_slab_by_lanes_fits_a_block_and_begins_on_whole_packs(dtype: torch.dtype, lanes: int) -> None:
    spaces = (Space(), Space(slabs=2, column_floats=1), Space(code_bytes=1, column_floats=1))
    for rows, cols, space in product((1, 259, 70_001), range(5, 258), spaces):
        if cols > 16 * lanes + 1 or (lanes == 16 and cols < 130):  # where eight are enough
            continue
        x = torch.empty(rows, cols, dtype=dtype, device="meta")
        found = slab_of(x, 1028, 1, space, packed=True, lanes=lanes)
        assert found is not None
        here = found.threads // lanes  # rows of a block
        row_bytes = cols * dtype.itemsize
        assert found.lanes == lanes
        assert cols % found.width == 0
        assert here % 16 == 0
        assert (found.blocks - 1) * here < rows <= found.blocks * here
        bytes_of_rows = here * (space.slabs * row_bytes + space.code_bytes * cols)
        assert bytes_of_rows <= SLAB_BYTES
        assert found.shared_bytes == bytes_of_rows + 4 * space.column_floats * cols


@pytest.mark.parametrize("multiprocessors", MULTIPROCESSORS)
def test_a_block_has_all_of_a_row_under_way_where_it_can(multiprocessors: int) -> None:
    """The last round of a thread's loop is the only one, so long as 1024 threads are enough for that."""
    pieces, row = launcher("row_sum", "cuda_pieces"), launcher("weighted_sum", "cuda_row")
    for rows, row_bytes in product((1, 132, 133, 1056, 1057, 70_001), (1044, 4100, 15_276, 37_920, 65_536)):
        threads = pieces.block_threads(rows, row_bytes, multiprocessors)
        name, held = row.block_of(rows, row_bytes)
        assert threads % 32 == 0
        assert row_bytes <= threads * pieces.UNROLL * 16
        assert held % 32 == 0
        assert max(threads, held) <= 1024
        if (
            row_bytes <= 8 * 1024 or rows * row_bytes <= 2**24
        ):  # of more few blocks would run beside each other
            assert name == "held"
            assert (held - 32) * row.HELD * 16 < row_bytes <= held * row.HELD * 16
        else:
            assert (name, held) == ("block", 256)
    assert "constexpr int HELD = 4;" in source("weighted_sum", "cuda_row")
    assert row.block_of(70_001, 65_540) == ("block", 256)
    assert pieces.block_threads(70_001, 65_540, multiprocessors) == 512
