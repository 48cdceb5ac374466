"""What launchers choose for rows of any length and number: a kernel that holds one, and blocks for all."""

import math
import re
from itertools import product
from typing import Any

import pytest
import torch

from roofscope.kernels.shared import norm_lanes
from roofscope.kernels.shared.slab import SLAB_BYTES, Space, slab_of
from roofscope.profiling.paths import LIBRARY
from roofscope.tests.kernels.launchers import launcher, source
from roofscope.tests.kernels.recorder import Recorder

MULTIPROCESSORS = (1, 28, 132, 148)
COLUMNS = (*range(1, 70), 100, 128, 129, 255, 256, 301, 513, 1023, 1024, 1025, 2047, 4093, 9001, 70_001)


ONES = (LIBRARY / "shared" / "ones.cuh").read_text()


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


@pytest.mark.parametrize(
    ("rows", "cols", "kernels"),
    [
        (76, 884, ["apart_2"]),
        (128, 2048, ["apart_4"]),
        (128, 512, ["apart_1"]),
        (1, 1, ["apart_1"]),
        (129, 884, ["skewed_128", "columns"]),
        (100, 2049, ["apart_8"]),
        (129, 2049, ["skewed_512", "columns"]),
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


def test_lanes_of_rows_on_narrow_accesses_hold_a_row() -> None:
    launched: list[tuple[str, int, int]] = []

    class Program:
        multiprocessor_count = 132

        def launch(self, name: str, grid: int, block: int, *_: object, **__: object) -> None:
            launched.append((name, grid, block))

    for rows, cols in product((1, 700, 1023), (2, 4, 6, 42, 84, 130, 196, 252, 254, 256)):
        launched.clear()
        dy, x, dx = (torch.empty(rows, cols, dtype=torch.bfloat16) for _ in range(3))
        inputs = (dy, x, torch.empty(cols, dtype=torch.bfloat16), torch.empty(rows))
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

    for rows, cols in product((1, 7, 73, 1023), (321, 513, 923, 3473, 4089)):
        launched.clear()
        dy, x, dx = (torch.empty(rows, cols, dtype=torch.bfloat16) for _ in range(3))
        inputs = (dy, x, torch.empty(cols, dtype=torch.bfloat16), torch.empty(rows))
        norm_lanes.launch_lanes(Program(), "rms_norm_backward", inputs, dx, torch.empty(cols))  # type: ignore[arg-type]
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


def test_few_rows_are_summed_by_elements_where_a_lane_has_more_than_eight() -> None:
    module = launcher("row_sum", "cuda_pieces")

    def kernel_of(rows: int, cols: int) -> str:
        program = Recorder()
        module.run(program, torch.empty(rows, cols, device="meta"))
        return program.launches[0][0]

    assert kernel_of(524, 372) == "row_sum_columns_16_1"
    assert [kernel_of(490, cols) for cols in (256, 726, 1024)] == [
        f"row_sum_{kind}" for kind in ("warp", "columns_32_1", "columns_32_1")
    ]


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


def test_a_block_has_a_row_of_weighted_sum_element_by_element() -> None:
    row, text = launcher("weighted_sum", "cuda_row"), source("weighted_sum", "cuda_row")
    for rows, cols in ((4000, 512), (4001, 513), (300, 4097)):
        assert row.spread_of(rows, cols) is None
    for rows, cols in product((1, 300, 4000), (513, 2048, 2049, 3261, 4096)):
        each, threads = row.spread_of(rows, cols)
        assert f"SPREAD_KERNEL({each})" in text
        assert threads in range(32, 257, 32)
        assert (threads - 32) * each < cols <= threads * each


@pytest.mark.parametrize("multiprocessors", MULTIPROCESSORS)
def test_a_block_has_all_of_a_row_under_way_where_it_can(multiprocessors: int) -> None:
    """The last round of a thread's loop is the only one, so long as 1024 threads are enough for that."""
    pieces, row = launcher("row_sum", "cuda_pieces"), launcher("weighted_sum", "cuda_row")
    for rows, row_bytes in product((1, 132, 133, 1056, 1057, 70_001), (1044, 4100, 15_276, 37_920, 65_536)):
        threads = pieces.block_threads(rows, row_bytes, multiprocessors)
        name, held = row.block_of(rows, row_bytes, multiprocessors)
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
    assert row.block_of(70_001, 65_540, multiprocessors) == ("block", 256)
    assert pieces.block_threads(70_001, 65_540, multiprocessors) == 512


def _kernel_of_gradient(
    kernel: str, rows: int, cols: int
) -> tuple[str, list[str], int, tuple[object, ...], int]:
    """Its kind and sizes, blocks, arguments and shared memory, on Hopper."""
    launched: list[tuple[str, int, tuple[object, ...], int]] = []

    class Program:
        architecture, multiprocessor_count = "sm_90a", 132

        def launch(
            self, name: str, grid: int, _: int, *given: object, shared_bytes: int = 0, **__: object
        ) -> None:
            launched.append((name, grid, given, shared_bytes))

    dy, x, dx = (torch.empty(rows, cols, dtype=torch.bfloat16, device="meta") for _ in range(3))
    sums = torch.empty(cols, device="meta")
    norm_lanes.launch_lanes(Program(), kernel, (dy, x, dx[0], dx[:, 0]), dx, sums)  # type: ignore[arg-type]
    name, *others = launched[0]
    kind, *sizes = name.removeprefix(f"{kernel}_").split("_")
    return (kind, sizes, *others)


@pytest.mark.parametrize(
    "cols", [18, 28, 34, 40, 62, 66, 88, 94, 98, 124, 126, 128, 136, 188, 208, 254, 256, 258, 340, 382]
)
@pytest.mark.parametrize("rows", [2**14, 300_001])
@pytest.mark.parametrize("kernel", ["rms_norm_backward", "layer_norm_backward"])
def test_lanes_of_many_rows_of_a_gradient_ask_for_the_next(kernel: str, rows: int, cols: int) -> None:
    kind, (lanes, each, _, access), blocks, *_ = _kernel_of_gradient(kernel, rows, cols)
    assert kind == "ahead"
    assert f"AHEAD_KERNEL({lanes}, {each}, BYTES)" in (LIBRARY / "shared" / "norm_ahead.cuh").read_text()
    assert f"\nAHEAD_KERNELS({access})\n" in source(kernel, "cuda_lanes")
    assert 2 * cols % int(access) == 0
    assert cols <= int(lanes) * int(each) < 2 * cols
    assert blocks <= 2 * 132


@pytest.mark.parametrize("cols", [161, 255, 257, 319, *range(321, 1022, 50), 388, 510, 1020, 1022, 1023])
@pytest.mark.parametrize("rows", [2**15, 300_001])
@pytest.mark.parametrize("kernel", ["rms_norm_backward", "layer_norm_backward"])
def test_longer_rows_of_a_gradient_that_begin_anywhere_come_as_runs(
    kernel: str, rows: int, cols: int
) -> None:
    kind, (each,), blocks, given, shared_bytes = _kernel_of_gradient(kernel, rows, cols)
    held, stages = norm_lanes.RUNS[int(each)], given[-1]
    text = (LIBRARY / "shared" / "norm_runs.cuh").read_text()
    assert kind == "runs"
    assert f"RUNS_KERNEL({each}, {held})" in text
    assert f"RUN_ROWS = {norm_lanes.RUN_ROWS};" in text
    assert f"MOST_STAGES = {norm_lanes.MOST_STAGES};" in text
    assert cols <= 32 * int(each) < cols + 128
    assert isinstance(stages, int)
    assert 2 <= stages <= norm_lanes.MOST_STAGES
    assert shared_bytes == stages * norm_lanes.RUN_ROWS * (4 * cols + 8)
    assert held * (shared_bytes + norm_lanes.RESERVED_BYTES) <= 227 * 1024
    assert shared_bytes >= 256 // 32 * cols * 4  # where the sums of warps meet
    assert blocks <= held * 132


@pytest.mark.parametrize(
    ("rows", "cols", "kind"),
    [
        *((1023, 124, "by"), (1023, 136, "packed"), (5003, 24, "packed"), (2**14 - 1, 28, "by")),
        *((8191, 300, "elements"), (2**15 - 1, 301, "elements"), (300_001, 131, "elements")),
        *((8191, 340, "runs"), (1023, 341, "skewed"), (1023, 745, "skewed"), (300_001, 1025, "skewed")),
    ],
)
def test_fewer_rows_of_a_gradient_go_otherwise(rows: int, cols: int, kind: str) -> None:
    assert _kernel_of_gradient("layer_norm_backward", rows, cols)[0] == kind


@pytest.mark.parametrize("rows", [2048, 5003, 30_011])
def test_a_warp_has_a_row_of_some_hundred_columns_that_begins_anywhere(rows: int) -> None:
    listed = (LIBRARY / "shared" / "norm_elements.cuh").read_text()
    launched: list[tuple[str, int, int]] = []

    class Program:
        multiprocessor_count = 132

        def launch(self, name: str, grid: int, block: int, *_: object, **__: object) -> None:
            launched.append((name, grid, block))

    for kernel, cols in product(("rms_norm_backward", "layer_norm_backward"), (65, 95, 127, 131, 255, 319)):
        launched.clear()
        dy, x, dx = (torch.empty(rows, cols, dtype=torch.bfloat16, device="meta") for _ in range(3))
        inputs = (dy, x, dx[0], dx[:, 0])
        norm_lanes.launch_lanes(Program(), kernel, inputs, dx, torch.empty(cols, device="meta"))  # type: ignore[arg-type]
        name, blocks, threads = launched[0]
        each = int(name.removeprefix(f"{kernel}_elements_"))
        assert "\nELEMENTS_KERNELS\n" in source(kernel, "cuda_lanes")
        assert f"ELEMENTS_KERNEL({each}, {norm_lanes.ELEMENTS[each]})" in listed
        assert (each - 2) * 32 < cols <= each * 32
        assert blocks <= norm_lanes.ELEMENTS[each] * 132
        assert threads == 256
