"""A linear layer's loss and gradients in one call: rows that are ignored, and rows taken in turns."""

from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from roofscope.kernels.linear_cross_entropy_backward import few_rows, loose_few, products
from roofscope.kernels.linear_cross_entropy_training import powers
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.tests.kernels import interpreter
from roofscope.tests.kernels.cases import CATALOG, Tensors, random_inputs, relative_error

# Two turns of the interpreter's, the second one cut; the last tile of columns is cut too.
SIZES = {"rows": 70, "vocab": 2003, "hidden": 40}
IGNORED = [0, 7, 69]
MULTIPROCESSORS = 132  # of an H100 or H200


def kernel() -> Kernel:
    found = CATALOG.kernel("linear_cross_entropy_training")
    assert found is not None
    return found


def some_ignored() -> tuple[Tensors, Tensors]:
    """Inputs, and what torch's own autograd finds in float64."""
    x, w, labels, dloss = random_inputs(kernel(), SIZES, kernel().spec.dtypes[0])
    labels[IGNORED] = -100
    labels[[1, 2]] = torch.tensor([0, SIZES["vocab"] - 1])
    leaves = [one.double().requires_grad_() for one in (x, w)]
    loss = cross_entropy(leaves[0] @ leaves[1].T, labels, reduction="none")
    loss.backward(dloss.double())
    return (x, w, labels, dloss), (
        loss.detach(),
        *(one.grad for one in leaves if one.grad is not None),
    )


def by_triton(interpreters: ProcessPoolExecutor, inputs: Tensors) -> Tensors:
    pytest.importorskip("triton", reason="Triton is not installed here")
    names = [str(x.dtype).removeprefix("torch.") for x in inputs]
    path, arrays = kernel().folder / "triton_persistent_tma.py", [x.double().numpy() for x in inputs]
    outputs, _ = interpreters.submit(interpreter.run, path, names, arrays).result()
    return tuple(torch.from_numpy(output) for output in outputs)


def is_right(found: Tensors, expected: Tensors) -> bool:
    loss, dx, _ = found
    is_ignored = not loss[IGNORED].any() and not dx[IGNORED].any()
    return is_ignored and relative_error(found, expected) <= kernel().spec.tolerance.of(
        kernel().spec.dtypes[0]
    )


@pytest.mark.parametrize("version", ["eager", "reference"])
def test_an_ignored_row_has_no_loss_and_no_part_in_the_gradients(version: str) -> None:
    inputs, expected = some_ignored()
    assert is_right(load_module(kernel().folder / f"{version}.py").run(*inputs), expected)


def test_triton_ignores_rows_as_torch_does(interpreters: ProcessPoolExecutor) -> None:
    inputs, expected = some_ignored()
    assert is_right(by_triton(interpreters, inputs), expected)


def test_triton_makes_nan_of_a_label_that_is_no_column(interpreters: ProcessPoolExecutor) -> None:
    """The gradients are those of a row that has no label: the last tile has columns beyond the last class."""
    x, w, labels, dloss = random_inputs(kernel(), SIZES, kernel().spec.dtypes[0])
    labels[:3] = torch.tensor([-1, SIZES["vocab"], 10**12])
    loss, dx, _ = by_triton(interpreters, (x, w, labels, dloss))
    assert loss.isnan().nonzero().flatten().tolist() == [0, 1, 2]
    weights = (x[:3].double() @ w.double().T).softmax(dim=1)
    expected = dloss[:3, None].double() * (weights @ w.double())
    torch.testing.assert_close(dx[:3].double(), expected, rtol=0.02, atol=1e-3)


def test_blocks_share_tiles_along_hidden_where_tiles_are_few() -> None:
    assert few_rows.is_small(10, 422, 4303, MULTIPROCESSORS)
    assert few_rows.is_small(73, 291, 4205, MULTIPROCESSORS)
    assert not few_rows.is_small(16, 32000, 1024, MULTIPROCESSORS)
    assert not few_rows.is_small(128, 100_000, 300, MULTIPROCESSORS)


class Recorder:
    """Takes note of the kernels that are launched, and of their grids."""

    multiprocessor_count = MULTIPROCESSORS

    def __init__(self) -> None:
        self.launches: dict[str, Any] = {}

    def launch(self, name: str, grid: Any, *_: object, **given: Any) -> None:
        assert given["overlaps"]
        self.launches[name] = grid


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "dx"),
    [
        (1, 663, 495, ["few_rows_8"]),
        (1, 4000, 1565, ["parts_of_few_8", "join_dx"]),
        (12, 43_000, 69, ["parts_of_few_16", "join_dx"]),
    ],
)
def test_rows_of_w_that_begin_anywhere_are_not_copied_for_few_rows(
    rows: int, vocab: int, hidden: int, dx: list[str]
) -> None:
    """Dx of few columns, or from a large w, comes in parts of the vocabulary."""
    x, w = (torch.empty(n, hidden, dtype=torch.bfloat16) for n in (rows, vocab))
    labels, dloss, loss = torch.zeros(rows, dtype=torch.int64), x[:, 0].contiguous(), x[:, 0].contiguous()
    assert loose_few.takes(x, w, MULTIPROCESSORS)
    recorder: Any = Recorder()
    found = loose_few.run(recorder, x, w, labels, dloss, (loss, None))
    assert [one.shape for one in found] == [x.shape, w.shape]
    assert [one.dtype for one in found] == [x.dtype, w.dtype]
    room = 8 if rows <= 8 else 16
    assert list(recorder.launches) == [f"logits_of_few_{room}", "gradient_of_few", *dx, f"loose_dw_{room}"]
    grid = loose_few.grid_of_dw(room, vocab, hidden, MULTIPROCESSORS)
    assert recorder.launches[f"loose_dw_{room}"] == (*grid, 1)
    assert 0 <= grid[0] * 8 * 32 - 16 * hidden < 8 * 32


def test_blocks_that_make_dw_share_the_vocabulary_where_it_is_long() -> None:
    assert loose_few.grid_of_dw(8, 1, 1565, MULTIPROCESSORS) == (98, 1)
    for vocab in (1, 1023, 1024, 2048, 43_602):
        along, shares = loose_few.grid_of_dw(8, vocab, 1565, MULTIPROCESSORS)
        assert shares <= -(-vocab // 256)
        assert along == 98
    # No search is long, however many rows w has.
    along, shares = loose_few.grid_of_dw(8, 2**30, 33, MULTIPROCESSORS)
    assert along * shares <= 8 * 3 * MULTIPROCESSORS
    assert shares > 1


def test_whole_rows_of_w_and_rows_of_x_beyond_shared_memory_are_for_tiles() -> None:
    def takes(rows: int, hidden: int) -> bool:
        x, w = (torch.empty(n, hidden, dtype=torch.bfloat16) for n in (rows, 10))
        return loose_few.takes(x, w, MULTIPROCESSORS)

    assert [takes(1, 64), takes(1, 65), takes(33, 65), takes(8, 20_001)] == [False, True, False, False]


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [(2, 57_720, 1368, True), (9, 57_720, 1368, False), (2, 57_720, 1344, False), (2, 2000, 520, False)],
)
def test_very_few_rows_read_a_w_whose_whole_rows_begin_amid_lines(
    rows: int, vocab: int, hidden: int, expected: bool
) -> None:
    x, w = (torch.empty(n, hidden, dtype=torch.bfloat16, device="meta") for n in (rows, vocab))
    assert loose_few.takes(x, w, MULTIPROCESSORS) == expected


@pytest.mark.parametrize(
    ("rows", "width", "expected"),
    [(1, 1024, True), (1, 1088, False), (1023, 4096, False), (1024, 4096, True), (9000, 4160, False)],
)
def test_a_warp_makes_the_gradient_of_a_short_row_of_logits(rows: int, width: int, expected: bool) -> None:
    assert powers.by_warps(rows, width) == expected


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [
        (313, 498, 578, (True, True)),
        (1867, 437, 125, (True, True)),  # dw's sums are long, and its tiles few
        (2146, 945, 85, (True, True)),
        (602, 693, 2252, (True, True)),
        (470, 3602, 4497, (False, False)),
        (6717, 3851, 1056, (False, False)),
        (4096, 32_000, 1024, (False, False)),
    ],
)
def test_small_products_have_small_tiles(
    rows: int, vocab: int, hidden: int, expected: tuple[bool, bool]
) -> None:
    """Dx and dw: pairs of blocks would leave most of the GPU idle."""
    sizes = (rows, hidden, vocab), (vocab, hidden, rows)
    assert tuple(products.takes_small_tiles(*one, MULTIPROCESSORS) for one in sizes) == expected
    for m, _, k in sizes:
        assert not products.takes_small_tiles(m, 0, k, MULTIPROCESSORS)


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [
        (218, 435, 159, ("powers_of_small_tiles", True, True)),
        (347, 583, 6567, ("powers_of_small_tiles", None, None)),  # 60: clusters would come in four rounds
        (313, 498, 578, ("powers_of_small_tiles", None, None)),
        (73, 291, 4205, ("powers_of_parts", True, True)),
        (174, 1698, 1426, ("powers_of_small_tiles", True, False)),
        (16, 32_000, 1024, ("powers_of_few", False, False)),
        (128, 32_000, 1024, ("powers_of_few", False, False)),
        (4505, 741, 109, ("powers_of_tiles", None, None)),
        (4096, 32_000, 1024, ("powers_of_tiles", None, None)),
    ],
)
def test_each_product_of_few_rows_has_tiles_that_fill_the_gpu(
    rows: int, vocab: int, hidden: int, expected: tuple[str, bool | None, bool | None]
) -> None:
    """The kernel of the logits, and of few rows whether dx and dw are by small tiles."""
    assert powers.choose(rows, vocab, hidden, MULTIPROCESSORS) == expected[0]
    if rows <= few_rows.FEW:
        sizes = rows, hidden, vocab, MULTIPROCESSORS
        assert (few_rows.dx_by_small_tiles(*sizes), few_rows.dw_by_small_tiles(*sizes)) == expected[1:]


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [
        (1, 663, 495, True),
        (3, 4495, 867, True),
        (11, 1337, 375, False),
        (25, 1051, 987, False),
        (28, 2000, 3001, False),
    ],
)
def test_a_small_w_is_copied_where_tiles_of_its_copy_are_faster(
    rows: int, vocab: int, hidden: int, expected: bool
) -> None:
    x, w = (torch.empty(n, hidden, dtype=torch.bfloat16) for n in (rows, vocab))
    assert loose_few.takes(x, w, MULTIPROCESSORS) == expected


@pytest.mark.parametrize("rows", [218, 313])
def test_a_loss_and_its_gradients_take_five_launches_where_w_is_copied(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, recorder = load_module(kernel().folder / "cuda_wgmma.py"), Recorder()

    def nothing(*_: object) -> int:
        return 0

    for one in (module, powers, few_rows, products):
        for name in ("needs_hopper", "tensor_map"):
            if hasattr(one, name):
                monkeypatch.setattr(one, name, nothing)
    x, w = (torch.empty(n, 159, dtype=torch.bfloat16) for n in (rows, 435))
    labels, dloss = torch.zeros(rows, dtype=torch.int64), x[:, 0].contiguous()
    module.run(recorder, x, w, labels, dloss)
    small = ["powers_of_small_tiles", "join_and_make_short", "small_dx", "small_dw"]
    assert list(recorder.launches) == ["whole_rows", *small]


def test_small_tiles_are_those_of_the_kernels() -> None:
    tile, source = (
        products.SMALL_TILE,
        (LIBRARY / "linear_cross_entropy_backward" / "small_products.cuh").read_text(),
    )
    assert (tile.rows, tile.columns, tile.threads, tile.cluster) == (64, 64, 256, 1)
    assert f"LEAST_TILE = {tile.rows}, LEAST_STAGES = {tile.stages};" in source
    assert tile.shared_bytes <= 227 * 1024
