"""Attention over packed sequences: lengths of all kinds, in the judge, eager and Triton."""

from concurrent.futures import ProcessPoolExecutor

import pytest
import torch

from roofscope.kernels.attention_varlen.spec import LENGTHS, LONGEST, sizes
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels import interpreter
from roofscope.tests.kernels.cases import CATALOG, Tensors, random_inputs, relative_error

FOLDER = LIBRARY / "attention_varlen"
LENGTHS_OF = [
    (1,),
    (128, 64, 192),  # whole tiles
    (0, 0, 130, 0, 1),  # empty ones at both ends and between
    (63, 65, 127, 129),
    (1, 1, 1, 200),
]


def inputs_of(lengths: tuple[int, ...], kv_heads: int = 1, group: int = 2, dim: int = 64) -> Tensors:
    draw = torch.Generator().manual_seed(sum(lengths))
    tokens = sum(lengths)
    # The interpreter multiplies no bfloat16.
    q, k, v = (
        torch.empty(tokens, heads, dim).uniform_(-1, 1, generator=draw).half()
        for heads in (kv_heads * group, kv_heads, kv_heads)
    )
    offsets = torch.tensor([0, *lengths]).cumsum(dim=0).int()
    return q, k, v, torch.empty(max(lengths), 0).half(), offsets


def by_mask(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, _: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    """All pairs of tokens at once, those of other sequences and of later tokens masked."""
    group = q.shape[1] // k.shape[1]
    place = torch.arange(len(q))
    sequence = torch.searchsorted(offsets[1:], place.int(), right=True)
    seen = (sequence[:, None] == sequence[None, :]) & (place[None, :] <= place[:, None])
    keys, values = (x.double().repeat_interleave(group, dim=1) for x in (k, v))
    scores = torch.einsum("ihd,jhd->hij", q.double(), keys) / q.shape[2] ** 0.5
    return torch.einsum("hij,jhd->ihd", scores.masked_fill(~seen, -torch.inf).softmax(dim=2), values)


def by_triton(stem: str, interpreters: ProcessPoolExecutor, inputs: Tensors) -> torch.Tensor:
    pytest.importorskip("triton", reason="Triton is not installed here")
    given = [str(x.dtype).removeprefix("torch.") for x in inputs]
    arrays = [x.double().numpy() for x in inputs]
    (o,), _ = interpreters.submit(interpreter.run, FOLDER / f"{stem}.py", given, arrays).result()
    return torch.from_numpy(o)


def test_lengths_are_those_of_the_strata_in_an_order_of_their_own() -> None:
    kernel = CATALOG.kernel("attention_varlen")
    assert kernel is not None
    drawn = random_inputs(kernel, sizes(20, 100, 1, 1, 1), Dtype.FLOAT16)
    lengths = drawn[-1].diff().tolist()
    expected = [LENGTHS[number % 16] for number in range(20)]
    assert lengths != expected
    assert sorted(lengths) == sorted(expected)
    assert drawn[-1][0] == 0
    assert drawn[-1][-1] == len(drawn[0])
    assert max(lengths) == len(drawn[3]) == LONGEST * min(lengths)


@pytest.mark.parametrize("batch", [0, 1, 15, 16, 33])
@pytest.mark.parametrize("shortest", [0, 1, 7])
def test_work_is_that_of_the_drawn_lengths(batch: int, shortest: int) -> None:
    kernel = CATALOG.kernel("attention_varlen")
    assert kernel is not None
    chosen = sizes(batch, shortest, 2, 3, 4)
    lengths = random_inputs(kernel, chosen, Dtype.FLOAT16)[-1].diff().tolist()
    pairs = sum(length * (length + 1) // 2 for length in lengths)
    assert kernel.spec.work_at(chosen, Dtype.FLOAT16).flop_count == 4 * 2 * 3 * 4 * pairs


@pytest.mark.parametrize("lengths", LENGTHS_OF, ids=str)
@pytest.mark.parametrize("version", ["reference", "eager", "eager_loop"])
def test_every_token_sees_its_sequence_up_to_itself(version: str, lengths: tuple[int, ...]) -> None:
    inputs = inputs_of(lengths, kv_heads=2)
    found = load_module(FOLDER / f"{version}.py").run(*inputs)
    assert relative_error((found,), (by_mask(*inputs),)) < 1e-3


@pytest.mark.parametrize("lengths", LENGTHS_OF, ids=str)
@pytest.mark.parametrize("stem", ["triton_flash", "triton_longest_first"])
def test_triton_takes_every_length(
    stem: str, lengths: tuple[int, ...], interpreters: ProcessPoolExecutor
) -> None:
    inputs = inputs_of(lengths)
    assert relative_error((by_triton(stem, interpreters, inputs),), (by_mask(*inputs),)) < 1e-3


@pytest.mark.parametrize("stem", ["triton_flash", "triton_longest_first"])
def test_nan_stays_in_its_sequence(stem: str, interpreters: ProcessPoolExecutor) -> None:
    """Also where a block of keys or values reaches beyond the end of the sequence before."""
    inputs = inputs_of((70, 30, 40))
    clean = by_triton(stem, interpreters, inputs)
    for x in inputs[:3]:
        x[70:100] = torch.nan
    found = by_triton(stem, interpreters, inputs)
    assert torch.equal(found[:70], clean[:70])
    assert found[70:100].isnan().all()
    assert torch.equal(found[100:], clean[100:])
