"""Decoding with a paged cache beyond what the spec draws: lengths, pages that are none, splits."""

from concurrent.futures import ProcessPoolExecutor

import pytest
import torch

from roofscope.kernels.paged_decode.pool import (
    MOST_PARTS,
    MOST_SPLITS,
    MOST_TOGETHER,
    parts_of,
    split_count,
)
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels import interpreter
from roofscope.tests.kernels.cases import CATALOG, Tensors, random_inputs, relative_error, signature

FOLDER = LIBRARY / "paged_decode"
SIZES = {"batch": 5, "kv_heads": 2, "group": 3, "pages": 9, "page": 16, "dim": 64}
LENGTHS = (144, 1, 17, 64, 100)  # all pages, one key, one past a page, whole tiles


def drawn() -> Tensors:
    kernel = CATALOG.kernel("paged_decode")
    assert kernel is not None
    return random_inputs(kernel, SIZES, Dtype.FLOAT16)


def inputs_of(lengths: tuple[int, ...] = LENGTHS) -> Tensors:
    *others, _ = drawn()
    return (*others, torch.tensor(lengths, dtype=torch.int32))


def expected(inputs: Tensors) -> torch.Tensor:
    return load_module(FOLDER / "reference.py").run(*inputs)


def by_triton(interpreters: ProcessPoolExecutor, inputs: Tensors) -> torch.Tensor:
    pytest.importorskip("triton", reason="Triton is not installed here")
    given = [str(x.dtype).removeprefix("torch.") for x in inputs]
    arrays = [x.double().numpy() for x in inputs]
    (o,), _ = interpreters.submit(interpreter.run, FOLDER / "triton_split.py", given, arrays).result()
    return torch.from_numpy(o)


def test_the_table_is_a_random_order_of_all_pages() -> None:
    *_, table, lengths = drawn()
    assert table.flatten().sort().values.tolist() == list(range(45))
    assert table.flatten().diff().eq(1).sum() < 8
    assert lengths.tolist() == [9 * 16 - 15, *[9 * 16] * 4]


def test_the_reference_takes_lengths_of_all_kinds() -> None:
    """Against softmax and sums written out, key by key."""
    q, k, v, table, lengths = inputs = inputs_of()
    found = expected(inputs)
    for row, length in enumerate(lengths.tolist()):
        rows = [(int(table[row, key // 16]), key % 16) for key in range(length)]
        for head in range(6):
            keys = torch.stack([k[page, at, head // 3].double() for page, at in rows])
            values = torch.stack([v[page, at, head // 3].double() for page, at in rows])
            weights = torch.exp(keys @ q[row, head].double() / 8)
            mean = (weights[:, None] * values).sum(dim=0) / weights.sum()
            torch.testing.assert_close(found[row, head], mean)


def test_eager_takes_lengths_of_all_kinds() -> None:
    inputs = inputs_of()
    assert relative_error((load_module(FOLDER / "eager.py").run(*inputs),), (expected(inputs),)) < 1e-3


def test_triton_takes_lengths_of_all_kinds(interpreters: ProcessPoolExecutor) -> None:
    """None at all is a mean of nothing, and more than the pages hold is all of them."""
    inputs = inputs_of((0, 7, 500, -3, 65))
    found = by_triton(interpreters, inputs)
    assert relative_error((found,), (expected(inputs),)) < 1e-3
    assert not found[[0, 3]].any()


def test_triton_reads_no_page_that_is_not_in_the_pool(interpreters: ProcessPoolExecutor) -> None:
    inputs = inputs_of()
    table = inputs[3]
    table[0, 4], table[2, 1], table[3, 4] = 45, -1, 10**9  # the last is beyond its sequence's 64 keys
    found = by_triton(interpreters, inputs)
    (kinds,) = signature((found,))
    assert kinds.flatten(1).ne(0).all(dim=1).tolist() == [True, False, True, False, False]
    assert found[[1, 3, 4]].isfinite().all()


@pytest.mark.parametrize("slots", [60, 108, 264])
def test_sequences_are_split_where_there_are_few(slots: int) -> None:
    assert split_count(10**6, 64, slots) == 1
    assert split_count(slots, 64, slots) == 1
    assert split_count(1, 1, slots) == split_count(1, 0, slots) == 1
    assert MOST_SPLITS >= split_count(8, 1000, slots) >= slots // 32
    for blocks in (1, 7, 100, 1000):
        for tiles in (1, 2, 63, 1000):
            assert 1 <= split_count(blocks, tiles, slots) <= min(tiles, MOST_SPLITS)


@pytest.mark.parametrize("slots", [60, 108, 264])
def test_parts_fill_the_device_and_few_of_them_are_a_cluster(slots: int) -> None:
    assert parts_of(slots, 64, slots, clusters=True) == (1, False)
    assert parts_of(1, 1, slots, clusters=True) == parts_of(1, 0, slots, clusters=True) == (1, False)
    parts, together = parts_of(1, 100_000, slots, clusters=True)
    assert slots // 2 <= parts <= slots
    assert not together
    assert parts_of(1, 8, slots, clusters=True)[1]
    for blocks in (1, 7, 100, 1000):
        for tiles in (1, 2, 8, 63, 1000):
            parts, together = parts_of(blocks, tiles, slots, clusters=True)
            assert 1 <= parts <= min(tiles, MOST_TOGETHER if together else MOST_PARTS)
            assert not parts_of(blocks, tiles, slots, clusters=False)[1]
