"""How several blocks share a row: what the launchers of softmax and the norms ask for, without a GPU."""

import itertools
import re
from typing import Any

import pytest
import torch

from roofscope.kernels.shared import held_rows, row_parts
from roofscope.kernels.shared.rows import access_bytes, launch_rows
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.worker.failures import Refusal
from roofscope.tests.kernels.cases import CATALOG

MULTIPROCESSORS = 132
MOST_SHARED_BYTES = 227 << 10  # of a block on Hopper
ROWS = (1, 2, 8, 100, 132, 133, 4096, 10**6)
NARROW_COLS = (2, 4, 6, 12, 134, 252, 514, 1020, 1026, 2188)  # which are no whole packs of bfloat16
ROW_BYTES = (2, 14, 16, 1030, 4096, 34002, 2**17, 2**18 + 2, 2**20, 3 << 20)

HELD = load_module(LIBRARY / "softmax" / "cuda_cluster.py").HELD


class Program:
    """In the place of a CudaProgram: notes what is launched."""

    architecture = "sm_90a"
    multiprocessor_count = MULTIPROCESSORS

    def __init__(self) -> None:
        self.launched: list[tuple[str, Any, int, dict[str, Any]]] = []

    def launch(self, name: str, grid: Any, block: int, *_: object, **options: Any) -> None:
        self.launched.append((name, grid, block, options))


def on_no_device(rows: int, cols: int) -> torch.Tensor:
    return torch.empty(rows, cols, dtype=torch.bfloat16, device="meta")


@pytest.mark.parametrize(("rows", "row_bytes"), list(itertools.product(ROWS, ROW_BYTES)))
def test_the_blocks_of_a_cluster_hold_a_row(rows: int, row_bytes: int) -> None:
    for inputs in (1, 2):
        shape = row_parts.cluster_shape(rows, row_bytes // inputs, inputs, MULTIPROCESSORS)
        assert shape.blocks in (1, 2, 4, 8, 16)
        assert shape.blocks * shape.shared_bytes >= row_bytes // inputs // 16 * 16 * inputs
        assert shape.shared_bytes <= MOST_SHARED_BYTES
        assert shape.threads % 32 == 0
        assert 32 <= shape.threads <= 512


@pytest.mark.parametrize(("rows", "row_bytes"), list(itertools.product(ROWS, ROW_BYTES)))
def test_a_device_whose_blocks_have_less_memory_gets_more_of_them(rows: int, row_bytes: int) -> None:
    """As far as its clusters go: 99 KB and 8 blocks on a GeForce of compute capability 12.0."""
    shared_bytes = 97 << 10
    shape = row_parts.cluster_shape(rows, row_bytes, 1, 170, 8, shared_bytes)
    if row_bytes <= 8 * shared_bytes:
        assert shape.shared_bytes <= shared_bytes + (2 << 10)
    assert shape.blocks <= 8


@pytest.mark.parametrize(("rows", "row_bytes"), list(itertools.product(ROWS, ROW_BYTES)))
def test_the_parts_of_the_grid_are_worth_a_block(rows: int, row_bytes: int) -> None:
    parts = row_parts.parts_of_grid(rows, row_bytes, MULTIPROCESSORS)
    assert 1 <= parts <= max(row_bytes // 4096, 1)


def test_few_rows_are_spread_over_the_device() -> None:
    program = Program()
    row_parts.launch_clusters(program, "softmax_cluster", on_no_device(8, 2**17), held=HELD)
    ((_, grid, _, options),) = program.launched
    assert options["cluster"] == 16
    assert grid == (16, 8)


def test_a_row_that_no_cluster_holds_is_refused() -> None:
    with pytest.raises(Refusal, match="keeps a row in the shared memory of a cluster; 1572865 columns"):
        row_parts.launch_clusters(Program(), "softmax_cluster", on_no_device(1, 3 * 2**19 + 1), held=HELD)


def test_without_elements_nothing_is_launched() -> None:
    program = Program()
    for x in (on_no_device(0, 8), on_no_device(8, 0)):
        row_parts.launch_clusters(program, "softmax_cluster", x, held=HELD)
        row_parts.launch_split(program, "softmax", x, words=2)
    assert program.launched == []


def test_a_row_of_the_whole_grid_takes_two_kernels_that_overlap() -> None:
    program = Program()
    row_parts.launch_split(program, "softmax", on_no_device(1, 2**22), words=2)
    first, second = program.launched
    assert (first[0], second[0]) == ("softmax_statistics", "softmax_outputs")
    assert first[1:] == second[1:]
    assert first[3] == {"overlaps": True}


@pytest.mark.parametrize(
    ("rows", "cols", "blocks"),
    [
        *((8, 2**17, 16), (200, 20001, 4), (132, 20001, 1), (1000, 2**16, 4), (512, 2**18, 16)),
        *(
            (12, 253_112, 16),
            (11, 2**18, 16),
            (16, 200_000, 16),
            (10, 78796, 16),
            (24, 2**17, 16),
            (64, 2**16, 8),
        ),
        *((100, 30080, 4), (132, 16384, 1), (300, 8192, 1), (120, 9001, 1)),
    ],
)
def test_a_cluster_has_as_many_blocks_as_were_fastest(rows: int, cols: int, blocks: int) -> None:
    """On an H200, in bfloat16, of those that were tried, or nearly."""
    assert row_parts.cluster_shape(rows, cols * 2, 1, MULTIPROCESSORS).blocks == blocks


@pytest.mark.parametrize(
    ("rows", "cols", "inputs", "blocks"),
    [
        *((27, 69670, 1, 16), (13, 203_844, 2, 16), (119, 75744, 1, 8), (24, 2**17, 1, 16)),
        *((48, 2**17, 1, 16), (64, 2**16, 1, 8), (113, 38068, 1, 8)),
    ],
)
def test_few_long_rows_have_blocks_on_all_multiprocessors(
    rows: int, cols: int, inputs: int, blocks: int
) -> None:
    """With no more threads than let all clusters run at once, one less for each block of a multiprocessor."""
    shape = row_parts.cluster_shape(rows, cols * 2, inputs, MULTIPROCESSORS)
    assert shape.blocks == blocks
    assert 1024 // shape.threads * (MULTIPROCESSORS // blocks - 1) >= rows
    assert shape.threads <= 320


def test_few_long_rows_that_are_copied_have_no_more_threads_than_a_quarter_of_those_at_once() -> None:
    assert row_parts.cluster_shape(13, 203_844 * 2, 2, MULTIPROCESSORS).threads == 256


@pytest.mark.parametrize(
    ("rows", "cols", "shape"),
    [
        (1, 4096, (4, 1, 128)),
        (132, 8192, (4, 2, 128)),
        (8, 16384, (8, 1, 256)),
        (64, 16384, (8, 2, 128)),
        (32, 2**15, (8, 2, 256)),
        (200, 20000, (4, 4, 160)),
        (300, 2**15, (4, 4, 256)),
        (1, 2**16, (16, 2, 256)),
        (64, 2**16, (8, 4, 256)),
        (16, 2**17, (16, 4, 256)),
        (8, 2**18, (16, 8, 256)),
        (12, 253_112, (16, 8, 256)),
        (24, 2**17, (16, 4, 256)),
        (13, 2**18, (16, 8, 256)),
        (12, 253_116, (16, 8, 256)),
        (13, 203_844, (16, 8, 224)),
        (30, 100_003, (8, 8, 224)),
        (13, 38724, (16, 2, 160)),
        (16, 2**18, None),
        (48, 2**17, None),
        (66, 30080, (8, 2, 256)),
        (119, 75744, (8, 8, 160)),
        (1000, 4096, None),
        (1, 2**20, None),
        (3, 20001, (8, 2, 160)),
        (64, 30001, (8, 2, 256)),
        (8, 131_074, (16, 4, 256)),
        (1, 200_001, (16, 8, 224)),
    ],
)
def test_few_rows_are_kept_in_registers(rows: int, cols: int, shape: tuple[int, int, int] | None) -> None:
    """As was fastest on an H200, in bfloat16, or nearly."""
    packs, beside = divmod(cols * 2, 16)
    found = held_rows.held_shape(rows, packs, MULTIPROCESSORS, HELD, aligned=not beside)
    assert found == (shape and held_rows.HeldShape(*shape))


@pytest.mark.parametrize(
    ("kernel", "rows", "cols", "shape"),
    [
        ("rms_norm", 412, 32_608, (8, 4, 128, False)),
        ("rms_norm", 1068, 49_416, (8, 8, 128, True)),
        ("rms_norm", 330, 69_808, (16, 8, 96, True)),
        ("rms_norm", 330, 98_312, None),
        ("rms_norm", 2049, 32_608, None),
        ("add_rms_norm", 677, 59_688, (16, 4, 128, True)),
        ("add_rms_norm", 677, 43_192, None),
        ("softmax", 430, 81_256, (8, 8, 160, False)),
        ("softmax", 515, 36_672, None),
        ("softmax", 1294, 69_024, None),
        ("softmax", 1605, 64_864, (8, 8, 128, False)),
        ("layer_norm", 515, 56_672, None),
    ],
)
def test_more_rows_than_have_room_are_kept_by_small_blocks(
    kernel: str, rows: int, cols: int, shape: tuple[int, int, int, bool] | None
) -> None:
    """As was fastest on an H200, in bfloat16; fewer blocks of a cluster than that are not tried."""
    held, packs = load_module(LIBRARY / kernel / "cuda_cluster.py").HELD, cols // 8
    assert held_rows.many_shape(rows, packs, held) == (shape and held_rows.HeldShape(*shape))
    assert held_rows.many_shape(rows, packs, held, 4) is None


@pytest.mark.parametrize("most", [8, 16])
@pytest.mark.parametrize(("rows", "row_bytes"), list(itertools.product(ROWS, ROW_BYTES)))
def test_threads_that_keep_a_row_have_all_of_it(rows: int, row_bytes: int, most: int) -> None:
    packs, beside = divmod(row_bytes, 16)
    if found := held_rows.held_shape(rows, packs, MULTIPROCESSORS, HELD, most, aligned=not beside):
        assert found.blocks * found.threads * found.packs >= packs
        assert found.blocks in (2, 4, 8, 16)
        assert found.blocks <= most
        assert found.packs in (held_rows._HELD_PACKS_ANY if beside else held_rows._HELD_PACKS)
        assert found.threads % 32 == 0
        assert 32 <= found.threads <= held_rows._HELD_THREADS


@pytest.mark.parametrize(
    ("rows", "cols", "kernel", "grid", "threads"),
    [
        (8, 2**17, "_held_4", (16, 8), 256),
        (8, 2**17 - 1, "_held_4_any", (16, 8), 256),
        (100, 4096, "_held_1", (4, 100), 128),
        (3, 7, "_held_2_any", (2, 3), 32),
        (2000, 4096, "", 2000, 64),
    ],
)
def test_few_rows_go_by_kernels_that_hold_them(
    rows: int, cols: int, kernel: str, grid: int | tuple[int, int], threads: int
) -> None:
    program, x = Program(), on_no_device(rows, cols)
    row_parts.launch_clusters(program, "softmax_cluster", x, x, held=HELD)
    ((name, blocks, block, _),) = program.launched
    assert (name, blocks, block) == (f"softmax_cluster{kernel}", grid, threads)


@pytest.mark.parametrize(
    ("rows", "cols", "kernel", "of_layer_norm"),
    [
        (12, 253_112, "_held_8", "_copied_8"),
        (8, 253_112, "_held_8", "_copied_8"),
        (113, 38_068, "_held_4_any", ""),
        (57, 43_479, "_held_4_any", ""),
        (27, 69_670, "_held_4_any", "_copied_4_any"),
        (16, 69_670, "_held_4_any", "_copied_4_any"),
        (9, 114_614, "_held_4_any", "_held_8_any"),
        (100, 30_080, "_held_2", "_held_2"),
        (200, 20_000, "_held_4", "_held_2"),
        (8, 131_071, "_held_4_any", "_held_8_any"),
        (64, 2**16, "_held_4", ""),
        (64, 2**12, "_held_1", "_held_1"),
    ],
)
def test_layer_norm_holds_fewer_rows(rows: int, cols: int, kernel: str, of_layer_norm: str) -> None:
    """Its scales and shifts take registers too: of more rows some clusters would wait for others."""
    program, x = Program(), on_no_device(rows, cols)
    found = CATALOG.kernel("layer_norm")
    assert found is not None
    row_parts.launch_clusters(program, "softmax_cluster", x, x, held=HELD)
    w = torch.empty(cols, dtype=x.dtype, device="meta")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_parts, "shared_limit", lambda _: MOST_SHARED_BYTES)
        load_module(found.folder / "cuda_cluster.py").run(program, x, w, w)
    names = [name for name, *_ in program.launched]
    assert names == [f"softmax_cluster{kernel}", f"layer_norm_cluster{of_layer_norm}"]


@pytest.mark.parametrize(("rows", "balanced"), [(1, False), (4, False), (5, True), (8, True), (24, True)])
def test_large_clusters_that_nearly_fill_the_device_are_balanced(rows: int, balanced: bool) -> None:
    program, x = Program(), on_no_device(rows, 2**17)
    row_parts.launch_clusters(program, "softmax_cluster", x, x, held=HELD)
    ((_, _, _, options),) = program.launched
    assert options["balanced"] == balanced


@pytest.mark.parametrize(
    ("name", "rows", "cols", "kernel"),
    [
        ("add_rms_norm", 13, 203_844, "_copied_8_any"),
        ("add_rms_norm", 11, 137_792, "_held_8"),
        ("add_rms_norm", 15, 63_032, "_copied_2"),
        ("add_rms_norm", 5, 30_000, "_held_2"),
        ("rms_norm", 36, 101_392, "_copied_8"),
        ("rms_norm", 6, 69_552, "_copied_4"),
        ("rms_norm", 11, 119_932, "_copied_4_by_8"),
    ],
)
def test_columns_are_copied_where_more_blocks_then_run(name: str, rows: int, cols: int, kernel: str) -> None:
    found = CATALOG.kernel(name)
    assert found is not None
    program, x = Program(), on_no_device(rows, cols)
    w = torch.empty(cols, dtype=x.dtype, device="meta")
    inputs = (x, x, w) if name == "add_rms_norm" else (x, w)
    load_module(found.folder / "cuda_cluster.py").run(program, *inputs)
    ((launched, (blocks, _), threads, options),) = program.launched
    assert launched == f"{name}_cluster{kernel}"
    packs = int(kernel.split("_")[2])
    assert blocks * threads * packs >= cols * 2 // 16
    room = (threads * packs + kernel.endswith("any")) * 16
    assert options.get("shared_bytes") == (room if "copied" in kernel else None)


def test_kernels_of_all_packs_that_are_held_are_there() -> None:
    text = (LIBRARY / "shared" / "held_rows.cuh").read_text()
    kernels = re.findall(r"KERNEL\((\d), (\w+), (\w+)\)", text)

    def named(packs: tuple[int, ...], suffix: str, aligned: str) -> list[tuple[str, str, str]]:
        return [(str(each), f"{each}{suffix}", aligned) for each in packs]

    held = named(held_rows._HELD_PACKS, "", "true") + named(held_rows._HELD_PACKS_ANY, "_any", "false")
    copied = named(held_rows._COPIED_PACKS, "", "true") + named(held_rows._COPIED_PACKS, "_any", "false")
    assert kernels == held + copied


@pytest.mark.parametrize(
    ("cols", "name"),
    [
        (7, "any_8"),
        (255, "any_8"),
        (257, "any_16"),
        (1023, "any_32"),
        (1031, "any_block_4"),
        (40001, "pieces"),
    ],
)
def test_odd_columns_have_kernels_of_their_own(cols: int, name: str) -> None:
    program = Program()
    x = torch.empty(3, cols, dtype=torch.bfloat16)
    launch_rows(program, "softmax", x, torch.empty_like(x), at_any_alignment=True)
    launch_rows(program, "softmax_backward", x, torch.empty_like(x))
    assert [launch[0] for launch in program.launched] == [f"softmax_{name}", "softmax_backward_pieces"]


@pytest.mark.parametrize("kernel", ["softmax", "layer_norm", "rms_norm", "add_rms_norm"])
@pytest.mark.parametrize(("rows", "cols"), list(itertools.product((1, 100, 5000), (*NARROW_COLS, 16380))))
def test_narrow_accesses_hold_rows_that_start_on_fewer_bytes(kernel: str, rows: int, cols: int) -> None:
    program = Program()
    x = torch.empty(rows, cols, dtype=torch.bfloat16)
    access = access_bytes(cols, x)
    assert access == (8 if cols % 4 == 0 else 4)
    packs = 4 if kernel == "add_rms_norm" else 8
    launch_rows(
        program, kernel, x, torch.empty_like(x), at_any_alignment=True, narrow=(8, 4), narrow_packs=packs
    )
    ((name, grid, block, _),) = program.launched
    text = (LIBRARY / kernel / "cuda_registers.cu").read_text().replace("BLOCK_GROUP", "1024")
    group, by = re.fullmatch(rf"{kernel}_(\w+)_by_(\d)", name).groups()
    assert by == str(access)
    assert f"KERNELS_BY({by})" in text
    threads, packs = map(int, re.search(rf"{kernel}_{group}_by_##BYTES, (\d+), (\d)", text).groups())
    if group.startswith("block"):
        threads, rows_of_block = block, 1
    else:
        rows_of_block = block // threads
    assert threads * packs * 16 >= cols * 2
    assert grid * rows_of_block >= rows
    assert block % 32 == 0
    assert block <= 512


@pytest.mark.parametrize("kernel", ["layer_norm", "rms_norm"])
def test_rows_of_a_warp_have_all_that_their_kernels_take_for_granted(kernel: str) -> None:
    text = (LIBRARY / "shared" / "exact_rows.cuh").read_text()
    by_bytes = text.replace("NAME##_exact_", "").replace("##BYTES", "BYTES")
    found = re.findall(r"KERNEL\((\d+)_by_(\w+), 32, (\d+), (\d+), ", by_bytes)
    least = {(each, by): int(columns) for each, by, same, columns in found if each == same}
    assert len(least) == len(found)
    run = load_module(LIBRARY / kernel / "cuda_registers.py").run
    for cols in (*range(258, 2050, 2), 2052, 2056):
        program, x = Program(), on_no_device(1001, cols)
        w = torch.empty(cols, dtype=x.dtype, device="meta")
        run(program, x, *([w, w] if kernel == "layer_norm" else [w]))
        ((name, grid, block, _),) = program.launched
        exact = re.fullmatch(rf"{kernel}_exact_(\d+)_by_(\d+)", name)
        assert bool(exact) == (cols <= 2048)
        if exact:
            each, by = exact.groups()
            assert int(by) == access_bytes(cols, x)
            assert least[each, "16" if by == "16" else "BYTES"] < cols <= 32 * int(each)
            assert grid * block >= 1001 * 32


@pytest.mark.parametrize(
    ("header", "constant", "value"),
    [
        ("row_parts.cuh", "MOST_THREADS", row_parts._MOST_THREADS),
        ("row_parts.cuh", "LINE_PACKS", row_parts._LINE_PACKS),
        ("held_rows.cuh", "HELD_THREADS", held_rows._HELD_THREADS),
        ("row_split.cuh", "SPLIT_THREADS", row_parts._SPLIT_THREADS),
        ("row_cluster.cuh", "MOST_BLOCKS", held_rows.MOST_CLUSTER),
    ],
)
def test_launchers_and_sources_have_the_same_constants(header: str, constant: str, value: int) -> None:
    text = (LIBRARY / "shared" / header).read_text()
    assert re.findall(rf"constexpr int {constant} = (\d+);", text) == [str(value)]
