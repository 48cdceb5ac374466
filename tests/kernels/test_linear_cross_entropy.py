"""Labels of the fused linear layer and cross-entropy: -100 is ignored, and what is no column gives NaN."""

import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from roofscope.kernels.linear_cross_entropy import few_rows, leaves, small_weights
from roofscope.kernels.shared.tile_times import EQUAL
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.tests.kernels import interpreter

FOLDER = LIBRARY / "linear_cross_entropy"
MULTIPROCESSORS = 132  # of an H100 or H200
ROWS, VOCAB, HIDDEN = 5, 700, 40  # three tiles of columns, the last one cut


def inputs_of(labels: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    x, w = (torch.randn(n, HIDDEN, generator=generator).half() for n in (ROWS, VOCAB))
    return x, w, torch.tensor(labels)


def by_triton(interpreters: ProcessPoolExecutor, *inputs: torch.Tensor) -> torch.Tensor:
    pytest.importorskip("triton", reason="Triton is not installed here")
    path, arrays = FOLDER / "triton_persistent_tma.py", [x.double().numpy() for x in inputs]
    given = ["float16", "float16", "int64"]
    (loss,), _ = interpreters.submit(interpreter.run, path, given, arrays).result()
    return torch.from_numpy(loss)


def test_an_ignored_row_costs_nothing(interpreters: ProcessPoolExecutor) -> None:
    x, w, labels = inputs_of([-100, 0, 255, 256, 699])
    expected = cross_entropy(x.double() @ w.double().T, labels, reduction="none")
    assert expected[0] == 0
    torch.testing.assert_close(load_module(FOLDER / "reference.py").run(x, w, labels), expected)
    torch.testing.assert_close(by_triton(interpreters, x, w, labels), expected, rtol=2e-3, atol=0)


def test_triton_makes_nan_of_a_label_that_is_no_column(interpreters: ProcessPoolExecutor) -> None:
    """The last tile has columns beyond the last class: none of them is a logit."""
    found = by_triton(interpreters, *inputs_of([700, -1, 767, 3, 10**12]))
    assert found.isnan().tolist() == [True, True, True, False, True]


def test_blocks_share_tiles_along_hidden_where_tiles_are_few() -> None:
    module = load_module(FOLDER / "cuda_wgmma.py")
    assert module.best_tile(10, 261, MULTIPROCESSORS, 3866)[0] == "tile_64x64_by_8"
    assert module.best_tile(1, 649, MULTIPROCESSORS, 5947)[0] == "tile_64x64_by_8"
    assert module.best_tile(10, 261, MULTIPROCESSORS, 300)[0] == "tile_64x64"
    assert module.best_tile(23, 1226, MULTIPROCESSORS, 4480)[0] == "tile_64x64_by_4"
    assert module.best_tile(45, 3934, MULTIPROCESSORS, 3968)[0] == "tile_64x64_by_2"
    assert module.best_tile(201, 910, MULTIPROCESSORS, 7496)[0] == "tile_128x64_by_4"
    assert module.choose(4096, 128_256, MULTIPROCESSORS, 4096) == "tile_128x256_pair"


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected", "shares"),
    [
        (4737, 795, 7207, "tile_128x160_pair", True),  # 95 tiles of pairs, for 66
        (8448, 256, 8192, "tile_128x256_pair", True),  # 33: all of them
        (1824, 99_741, 1279, "tile_128x256_pair", True),  # 3120, and 18 of them in a round of their own
        (363, 6335, 694, "tile_128x192_pair", False),  # as many as pairs
    ],
)
def test_pairs_share_the_tiles_of_a_last_round_along_hidden(
    rows: int, vocab: int, hidden: int, expected: str, shares: bool
) -> None:
    module = load_module(FOLDER / "cuda_wgmma.py")
    name, plan = module.best_tile(rows, vocab, MULTIPROCESSORS, hidden)
    assert name == expected
    assert plan.blocks <= MULTIPROCESSORS
    assert (plan.alone < module.TILES[name].count(rows, vocab)) == shares


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [
        (5707, 327, 3117, "tile_128x192_pair"),  # 46 tiles; three more than 66 would be of 160 columns
        (1603, 5256, 6997, "tile_128x192_pair"),  # 196 for three rounds of 66
        (4100, 900, 5003, "tile_128x256"),  # as many as multiprocessors
        (26, 2927, 1263, "tile_64x64"),  # clusters that share these would come in two rounds
        (1258, 961, 1272, "tile_128x128_four"),  # pairs would share all of theirs
    ],
)
def test_tiles_fill_their_rounds(rows: int, vocab: int, hidden: int, expected: str) -> None:
    module = load_module(FOLDER / "cuda_wgmma.py")
    name, plan = module.best_tile(rows, vocab, MULTIPROCESSORS, hidden)
    assert name == expected
    assert plan.alone == module.TILES[name].count(rows, vocab)


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [
        (1, 439, 119, True),
        (1, 439, 120, True),
        (2, 472, 325, True),
        (8, 300, 77, True),
        (9, 300, 77, False),
        (5, 700, 515, False),  # so many elements that tensor cores save time
        (1, 649, 5947, False),
        (1, 98_056, 1259, False),
    ],
)
def test_a_small_w_has_no_tiles(rows: int, vocab: int, hidden: int, expected: bool) -> None:
    """Whether its rows are of whole 16 bytes or not."""
    module = load_module(FOLDER / "cuda_wgmma.py")
    found = module.choose(rows, vocab, MULTIPROCESSORS, hidden, is_loose=hidden % 8 != 0)
    assert (found == "small_weights") == expected


@pytest.mark.parametrize("vocab", [1, 8, 9, 439, 2112, 2113, 40_000])
def test_pieces_of_a_small_w_are_few_enough_for_a_warp(vocab: int) -> None:
    blocks = small_weights.blocks_of(vocab, MULTIPROCESSORS)
    assert 0 < blocks <= min(2 * MULTIPROCESSORS, vocab)
    assert blocks == 2 * MULTIPROCESSORS or 8 * (blocks - 1) < vocab <= 8 * blocks


def test_tiles_are_those_of_the_kernels() -> None:
    """The launcher sizes the grid, the maps and what parts leave by its own list."""
    module, source = load_module(FOLDER / "cuda_wgmma.py"), (FOLDER / "cuda_wgmma.cu").read_text()
    for name in module.TILES.keys() - module.PARTS.keys():
        tile = module.TILES[name]
        ((kind, rest),) = re.findall(rf"STATISTICS_OF_(\w+)\({name}, ([\d, ]+)\)", source)
        shares = kind == "SHARES"
        given = [int(number) for number in rest.split(", ")]
        consumers, columns, stages, cluster = (2, *given, 2) if shares else given
        assert (tile.rows, tile.columns, tile.stages) == (consumers * 64, columns, stages), name
        assert (tile.above, tile.parts) == (cluster, EQUAL if shares else 1), name
        assert tile.shared_bytes + 8 <= 227 * 1024, name


def test_parts_of_tiles_are_those_of_the_kernels() -> None:
    module, source = load_module(FOLDER / "cuda_wgmma.py"), (FOLDER / "cuda_wgmma.cu").read_text()
    for name, parts in module.PARTS.items():
        tile = module.TILES[name]
        (found,) = re.findall(rf"STATISTICS_OF_PARTS\({name}, (\d), (\d), (\d)\)", source)
        assert tuple(map(int, found)) == (tile.warpgroups, tile.stages, parts), name
        assert tile.columns == 64, name
        assert tile.shared_bytes <= 227 * 1024, name


def test_tiles_that_leave_statistics_are_those_of_the_kernels() -> None:
    module, source = load_module(FOLDER / "cuda_wgmma.py"), (FOLDER / "leaves.cuh").read_text()
    found = dict(re.findall(r"^LEAVES\((\w+), (.+)\)$", source, re.MULTILINE))
    assert found.keys() == module.LEAVES.keys()
    for name, tile in module.LEAVES.items():
        sizes = (tile.rows, tile.columns, tile.stages, tile.above, tile.beside, tile.parts or "EQUAL")
        assert found[name] == ", ".join(map(str, sizes)) + f", {str(tile.across).lower()}", name
        assert tile.shared_bytes <= 227 * 1024, name
    assert leaves._OF_FEW.keys() <= module.LEAVES.keys() | leaves.BESIDE.keys()
    for name, tile in leaves.BESIDE.items():  # as the launcher has them, but for their times
        same = replace(module.TILES[name], step_ns=tile.step_ns, start_ns=tile.start_ns, parts=tile.parts)
        assert tile == same, name


@pytest.mark.parametrize("vocab", [1, 64, 65, 513, 2024])
def test_each_column_is_in_a_piece(vocab: int) -> None:
    """And each tile of a cluster has its own, also where it has no columns any more."""
    for tile in leaves.TILES.values():
        of_piece = 64 if tile.across else tile.columns
        pieces = leaves.pieces_of(tile, vocab)
        assert pieces * of_piece >= vocab
        assert pieces * of_piece % (tile.columns * tile.beside) == 0
        assert pieces * of_piece - vocab < tile.columns * tile.beside


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [
        (80, 2024, 5720, "across_96x128_quarters"),
        (22, 7504, 6456, "across_64x64_1x8"),
        (347, 1272, 4056, "across_96x64_1x4"),
        (12, 7504, 6456, "across_16x128_halves"),
        (1, 53_832, 1240, "across_16x128_halves"),
        (14, 76_493, 6616, "across_16x128_halves"),
        (22, 4856, 248, "across_32x64_quarters"),
        (432, 1360, 464, "across_96x64_1x4"),
        (80, 8096, 5720, "across_80x64_pair"),
        (94, 10_504, 4152, "across_96x128_1x4"),
        (263, 31_696, 632, "across_144x192_2x2"),  # rows amid sectors of L2: many blocks share copies
        (304, 3712, 4008, "across_80x128_2x2"),
        (295, 8472, 2080, "across_160x192_2x1"),
        (335, 7408, 5208, "across_176x128_2x2"),
        (128, 2024, 5720, "across_128x128_quarters"),  # not of more rows, such as those 347
        (130, 21_008, 4152, "across_144x192_pair"),
        (9, 194_464, 344, "across_16x128_halves"),
        (1, 439, 120, None),  # a small w
        (180, 13_744, 2328, "across_192x128_1x4"),
        (331, 12_512, 3704, "across_192x192_pair"),  # with much to multiply
        (705, 2024, 5720, None),  # too many, and too much of which times are known
        (3001, 4096, 1024, None),  # too many
        (4000, 95_848, 1296, None),
    ],
)
def test_whole_rows_have_more_tiles(rows: int, vocab: int, hidden: int, expected: str | None) -> None:
    module = load_module(FOLDER / "cuda_wgmma.py")
    found = module.choose(rows, vocab, MULTIPROCESSORS, hidden)
    assert found == expected if expected else found not in module.LEAVES
    assert module.choose(rows, vocab, MULTIPROCESSORS, hidden - 1, is_loose=True) not in module.LEAVES


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [
        (1, 98_056, 1259, "few_rows"),
        (16, 240_615, 275, "few_rows"),
        (32, 41_232, 1451, "few_rows"),
        (7, 7273, 3731, "few_rows"),
        (9, 41_232, 100_001, "tile_64x128"),
        (41, 56_994, 301, "tile_64x128"),
        (1, 649, 5947, "few_rows"),
        (5, 700, 515, "few_rows"),  # a copy is a launch more
        (18, 811, 7929, "tile_64x64_by_8"),
        (26, 2927, 1263, "tile_64x64"),  # more than eight rows of x make more work of each row of w
        (32, 693, 283, "tile_64x64"),
        (1, 649, 0, "tile_64x64"),
    ],
)
def test_few_rows_do_without_a_copy_of_w(rows: int, vocab: int, hidden: int, expected: str) -> None:
    module = load_module(FOLDER / "cuda_wgmma.py")
    found = module.choose(rows, vocab, MULTIPROCESSORS, hidden, is_loose=True, begins_whole=False)
    assert found == expected


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [
        (5, 194_464, 344, True),
        (9, 194_464, 344, False),
        (13, 57_854, 6688, False),
        (15, 175_769, 2552, False),
        (17, 194_464, 344, False),  # of which no times are known
    ],
)
def test_few_rows_of_a_long_w_that_needs_no_copy(rows: int, vocab: int, hidden: int, expected: bool) -> None:
    """Tiles of short rows leave more statistics than they multiply."""
    module = load_module(FOLDER / "cuda_wgmma.py")
    assert (module.choose(rows, vocab, MULTIPROCESSORS, hidden) == "few_rows") == expected


@pytest.mark.parametrize(
    ("room", "vocab", "hidden"),
    [(8, 1, 1), (8, 521, 7619), (8, 2757, 2123), (8, 98_056, 1259), (16, 1003, 4001), (32, 9001, 2049)],
)
@pytest.mark.parametrize("most_parts", [1, 8])
def test_all_of_w_is_some_warps(room: int, vocab: int, hidden: int, most_parts: int) -> None:
    grid = few_rows.grid_of(room, vocab, hidden, MULTIPROCESSORS, most_parts)
    assert grid.at_once * grid.sharing <= 16
    assert (grid.parts - 1) * grid.columns < hidden <= grid.parts * grid.columns
    assert grid.parts <= most_parts
    assert grid.parts == 1 or grid.blocks * grid.at_once >= -(-vocab // 128) * 8  # of parts one round
    assert grid.blocks * grid.parts <= MULTIPROCESSORS


def test_warps_share_rows_of_w_where_those_are_few() -> None:
    """And blocks where they are fewer still; where they are many, each warp has its own."""
    of_few, of_fewer, of_many = (
        few_rows.grid_of(8, vocab, hidden, MULTIPROCESSORS)
        for vocab, hidden in ((2757, 2123), (521, 7619), (98_056, 1259))
    )
    assert of_few.sharing > 1
    assert of_fewer.parts > 1
    assert of_fewer.blocks * of_fewer.parts > MULTIPROCESSORS // 2
    assert (of_many.sharing, of_many.parts) == (1, 1)


@pytest.mark.parametrize("multiprocessors", [2, 8, 16])
def test_a_part_of_a_gpu_has_room_for_a_cluster(multiprocessors: int) -> None:
    module = load_module(FOLDER / "cuda_wgmma.py")
    for rows, vocab, hidden in ((131, 1003, 72), (1, 700, 33), (300, 40, 160), (10, 261, 3866)):
        plan = module.plan_of("tile_64x64_by_8", rows, vocab, multiprocessors, hidden)
        assert plan.blocks == -(-rows // 64) * -(-vocab // 64) * 8
        assert module.choose(rows, vocab, multiprocessors, hidden, is_loose=hidden % 8 != 0)


@pytest.mark.parametrize(("rows", "vocab", "hidden"), [(0, 64, 64), (0, 1003, 65), (5, 0, 64), (5, 64, 0)])
@pytest.mark.parametrize("multiprocessors", [2, MULTIPROCESSORS])
def test_nothing_to_multiply_has_a_kernel(rows: int, vocab: int, hidden: int, multiprocessors: int) -> None:
    module = load_module(FOLDER / "cuda_wgmma.py")
    assert module.choose(rows, vocab, multiprocessors, hidden, is_loose=hidden % 8 != 0) in module.TILES
