"""Products of a mixture of experts: runs of rows of all kinds, in the judge, eager and Triton."""

from concurrent.futures import ProcessPoolExecutor

import pytest
import torch

from roofscope.kernels.grouped_matmul import one_turn
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels import interpreter
from roofscope.tests.kernels.cases import CATALOG, Tensors, random_inputs, relative_error

FOLDER = LIBRARY / "grouped_matmul"
SIZES = {"tokens": 200, "experts": 5, "n": 72, "k": 80}
OFFSETS = [
    (0, 200, 200, 200, 200, 200),  # the first has all
    (0, 0, 0, 0, 0, 200),
    (0, 1, 64, 64, 128, 200),  # none, one row, whole tiles
    (0, 40, 80, 120, 160, 200),
]


def inputs_of(offsets: tuple[int, ...], **sizes: int) -> Tensors:
    kernel = CATALOG.kernel("grouped_matmul")
    assert kernel is not None
    x, w, _ = random_inputs(kernel, SIZES | sizes, Dtype.BFLOAT16)
    # The interpreter multiplies no bfloat16.
    return x.half(), w.half(), torch.tensor(offsets, dtype=torch.int32)


def row_by_row(x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    experts = torch.searchsorted(offsets[1:], torch.arange(len(x)), right=True)
    return torch.einsum("tk,tnk->tn", x.double(), w.double()[experts])


def by_triton(interpreters: ProcessPoolExecutor, inputs: Tensors) -> torch.Tensor:
    pytest.importorskip("triton", reason="Triton is not installed here")
    given = [str(x.dtype).removeprefix("torch.") for x in inputs]
    arrays = [x.double().numpy() for x in inputs]
    path = FOLDER / "triton_persistent_tma.py"
    (c,), _ = interpreters.submit(interpreter.run, path, given, arrays).result()
    return torch.from_numpy(c)


def test_runs_are_drawn_of_any_length() -> None:
    kernel = CATALOG.kernel("grouped_matmul")
    assert kernel is not None
    for sizes in (*kernel.spec.odd_sizes, {"tokens": 3, "experts": 40, "n": 1, "k": 1}):
        offsets = random_inputs(kernel, sizes, Dtype.BFLOAT16)[-1].tolist()
        assert offsets == sorted(offsets)
        assert (offsets[0], offsets[-1], len(offsets)) == (0, sizes["tokens"], sizes["experts"] + 1)
    _, _, offsets = random_inputs(kernel, {"tokens": 1000, "experts": 10, "n": 1, "k": 4}, Dtype.BFLOAT16)
    lengths = offsets.diff()
    assert 0 <= lengths.min() < 60
    assert 140 < lengths.max() <= 250


@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
@pytest.mark.parametrize("version", ["reference", "eager"])
def test_every_row_meets_its_expert(version: str, offsets: tuple[int, ...]) -> None:
    inputs = inputs_of(offsets)
    found = load_module(FOLDER / f"{version}.py").run(*inputs)
    assert relative_error((found,), (row_by_row(*inputs),)) < 1e-3


@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
def test_triton_meets_every_expert(interpreters: ProcessPoolExecutor, offsets: tuple[int, ...]) -> None:
    inputs = inputs_of(offsets)
    assert relative_error((by_triton(interpreters, inputs),), (row_by_row(*inputs),)) < 1e-3


@pytest.mark.parametrize(
    "sizes", [{"tokens": 301, "n": 257, "k": 65}, {"n": 1, "k": 1}, {"k": 0}, {"tokens": 0}], ids=str
)
def test_triton_takes_any_size(interpreters: ProcessPoolExecutor, sizes: dict[str, int]) -> None:
    tokens = (SIZES | sizes)["tokens"]
    inputs = inputs_of((0, min(7, tokens), *[tokens * 2 // 3] * 2, tokens, tokens), **sizes)
    assert relative_error((by_triton(interpreters, inputs),), (row_by_row(*inputs),)) < 1e-3


def test_triton_keeps_to_the_tokens(interpreters: ProcessPoolExecutor) -> None:
    """Offsets that are wrong read and write nothing elsewhere: the runs before are right."""
    inputs = inputs_of((-7, -5, 50, 100, 10**6, 300))
    found = by_triton(interpreters, inputs)
    right = row_by_row(inputs[0][:100], inputs[1], torch.tensor([0, 0, 50, 100, 100, 100]))
    assert relative_error((found[:100],), (right,)) < 1e-3


@pytest.mark.parametrize(
    ("tokens", "experts", "n", "k", "expected"),
    [
        (16, 4, 512, 4096, "tile_64x64"),  # in one round there is nothing to take turns for
        (64, 64, 3072, 2048, "turns_64x192"),
        (16, 16, 3576, 1648, "turns_64x192"),  # of which some have no token
        (3117, 98, 152, 184, "tile_64x64_thrice"),  # many little tiles of few steps
        (8364, 2, 192, 568, "turns_64x192"),  # but not of many
        (54657, 105, 672, 536, "tile_128x256_pair"),
        (32768, 64, 3072, 2048, "tile_128x192"),  # power is what it waits for
    ],
)
def test_runs_take_the_tile_of_least_time(tokens: int, experts: int, n: int, k: int, expected: str) -> None:
    assert load_module(FOLDER / "cuda_wgmma.py").choose(tokens, experts, n, k, 132) == expected


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((60, 120, 128, 96), (2, 1, False)),
        (
            (14, 18, 456, 72),
            (2, 1, True),
        ),  # few matrices, which may be read before it is known which are wanted
        ((289, 43, 1320, 72), (1, 2, True)),  # two passes of eight tokens at once
        ((13, 12, 1704, 360), (4, 1, True)),
        ((1, 36, 64, 1016), (8, 1, False)),
        ((60, 120, 128, 1032), None),  # no turn has all of k
        ((900, 120, 128, 96), None),  # all might be of one expert
        ((99, 10, 128, 97), None),  # of rows that begin anywhere fewer are worth while
    ],
)
def test_short_sums_of_few_tokens_take_one_turn(
    sizes: tuple[int, int, int, int], expected: tuple[int, int, bool] | None
) -> None:
    way = one_turn.way_of(*sizes, 132, is_loose=sizes[-1] % 8 != 0)
    assert (way and way[:3]) == expected


@pytest.mark.parametrize(
    ("tokens", "experts", "n", "k", "expected"),
    [
        (3, 14, 2568, 6608, True),
        (12, 30, 7000, 512, False),  # half of a block's warps would have nothing
        (2, 30, 2000, 512, True),  # but all blocks are there at once
        (12, 30, 7000, 1032, False),  # one of eight turns twice
        (12, 30, 7000, 509, False),  # the same where tiles want copies
        (11, 109, 6302, 260, True),  # but looking at so many matrices for a copy takes longer
        (20, 33, 3941, 70, False),
        (61, 30, 4795, 279, False),
        (1, 9, 286, 252, False),  # little to copy
        (55, 60, 142, 383, False),
        (1, 60, 3593, 1194, True),
        (250, 64, 2048, 1111, False),  # the second turn of a block is hardly one
        (130, 67, 1807, 2725, True),
        (130, 67, 1808, 2728, False),  # all of them might be of one expert, and then a tile is one pass
        (16, 4, 1808, 2736, True),
        (16, 4, 1808, 2728, False),  # rows begin amid sectors
        (5, 119, 695, 3544, True),  # but all blocks are there at once
        (64, 4, 1807, 2725, False),  # runs of many tokens are several passes
    ],
)
def test_few_tokens_take_matrices_as_they_lie(
    tokens: int, experts: int, n: int, k: int, expected: bool
) -> None:
    x = torch.empty((tokens, k), dtype=torch.bfloat16, device="meta")
    w = torch.empty((experts, n, k), dtype=torch.bfloat16, device="meta")
    module = load_module(FOLDER / "cuda_wgmma.py")
    assert module.suits_few_tokens(x, w, 132) == expected
