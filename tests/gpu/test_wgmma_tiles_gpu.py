"""Products whose tiles come in an order of their own, on a Hopper GPU: every tile is right."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from roofscope.kernels.grouped_matmul import one_turn
from roofscope.kernels.linear_cross_entropy_backward import few_rows, loose_few, products, residues
from roofscope.kernels.linear_cross_entropy_training import powers
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.profiling.worker.build.providers import cuda

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0),
    reason="wgmma is in compute capability 9.0 only",
)
# Cut tiles, rows that are padded, many steps along k, more tiles than multiprocessors; rows of C that begin
# in each place of a word of 16 bytes, that end before their first, and with a tile or a little beyond it.
BLOCKS = [
    {"m": 1000, "n": 1048, "k": 528},
    {"m": 129, "n": 257, "k": 65},
    {"m": 4096, "n": 2320, "k": 256},
    {"m": 512, "n": 512, "k": 4096},
    {"m": 5, "n": 3, "k": 3},
    {"m": 257, "n": 19, "k": 1000},
    {"m": 70, "n": 129, "k": 300},
    {"m": 300, "n": 1021, "k": 130},
    {"m": 200, "n": 1002, "k": 515},
    {"m": 3000, "n": 5004, "k": 260},
]
# Many tiles of one step, C as wide as whole tiles once its rows are wider, and cut ones.
ODD_COLUMNS = [
    *(sizes for sizes in BLOCKS if sizes["n"] % 8),
    {"m": 4841, "n": 4077, "k": 109},
    {"m": 1, "n": 1, "k": 1},
    {"m": 700, "n": 1023, "k": 300},
]
SIZES: dict[str, list[dict[str, int]]] = {
    "grouped_matmul/cuda_wgmma": [
        {"tokens": 3000, "experts": 9, "n": 1048, "k": 528},
        {"tokens": 129, "experts": 5, "n": 257, "k": 65},
        {"tokens": 700, "experts": 11, "n": 1002, "k": 100},
        {"tokens": 5000, "experts": 70, "n": 520, "k": 64},
        {"tokens": 20000, "experts": 3, "n": 768, "k": 200},
    ],
    "matmul_fp8_blocks/cuda_wgmma": BLOCKS,
    "matmul_fp8_blocks/cuda_halves": BLOCKS,
    "matmul_fp8_blocks/cuda_halves_pitched": ODD_COLUMNS,
    # Blocks of B by threes, and one or two beyond; all numbers of steps that are left of fours.
    "matmul_fp8_blocks/cuda_pieces": [
        *BLOCKS,
        {"m": 300, "n": 3000, "k": 900},
        {"m": 700, "n": 1400, "k": 384},
    ],
    "linear_cross_entropy/cuda_wgmma": [
        {"rows": 1000, "vocab": 10007, "hidden": 528},
        {"rows": 129, "vocab": 257, "hidden": 65},
        {"rows": 5000, "vocab": 2320, "hidden": 64},
        # More steps for each block of a cluster than its ring has stages.
        {"rows": 56, "vocab": 777, "hidden": 5947},
        # Tiles that pairs share, all of them or those of a last round.
        {"rows": 700, "vocab": 795, "hidden": 3001},
        {"rows": 4737, "vocab": 795, "hidden": 1000},
    ],
}


def giving(value: Any) -> Callable[..., Any]:
    """What gives it for any arguments."""

    def give(*_: object) -> Any:
        return value

    return give


def parts_of(key: str) -> tuple[Kernel, Any, cuda.CudaProgram]:
    """The kernel, the launcher and the program of an implementation."""
    name, _, stem = key.partition("/")
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    source = kernel.folder / f"{stem}.cu"
    program = cuda.CudaProgram(source, Dtype.BFLOAT16, "sm_90a", torch.device("cuda", 0))
    return kernel, load_module(kernel.folder / f"{stem}.py"), program


def tiles_of(key: str) -> list[str]:
    name, _, stem = key.partition("/")
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    module = load_module(kernel.folder / f"{stem}.py")
    return [*module.TILES, *getattr(module, "LEAVES", ())]


CASES = [(key, tile) for key in SIZES for tile in tiles_of(key)]


@pytest.mark.parametrize(("key", "tile"), CASES)
def test_every_tile_is_right(key: str, tile: str) -> None:
    kernel, module, program = parts_of(key)

    def choose(*_: object) -> str:
        return tile

    module.choose = choose
    for sizes in SIZES[key]:
        inputs = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        error = relative_error((module.run(program, *inputs),), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), str(sizes)


def test_rows_of_c_have_room_between_them() -> None:
    """They begin at multiples of 16 bytes; the caller has the first columns."""
    kernel, module, program = parts_of("matmul_fp8_blocks/cuda_halves_pitched")
    for sizes in ODD_COLUMNS:
        found = module.run(program, *random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda"))
        assert found.shape == (sizes["m"], sizes["n"])
        assert found.stride(0) * found.element_size() % 16 == 0
        assert found.data_ptr() % 16 == 0


@pytest.mark.parametrize(("vocab", "hidden"), [(768, 520), (2500, 520), (2500, 519)])
def test_parts_of_a_vocabulary_add_up(vocab: int, hidden: int) -> None:
    """Three parts, the last one cut or not; rows of whole 16 bytes, and others."""
    kernel, module, program = parts_of("linear_cross_entropy_backward/cuda_wgmma")
    module.CHUNK_BYTES = 2 * 300 * (256 if vocab == 768 else 1024)
    inputs = random_inputs(
        kernel, {"rows": 300, "vocab": vocab, "hidden": hidden}, Dtype.BFLOAT16, device="cuda"
    )
    error = relative_error(module.run(program, *inputs), reference(kernel, inputs))
    assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16)


@pytest.mark.parametrize("rows", [100, 300])
def test_columns_that_fill_up_rows_have_no_part_where_all_logits_are_far_below_zero(rows: int) -> None:
    """Such a column's logit is 0, and its power beyond the type's range."""
    kernel, module, program = parts_of("linear_cross_entropy_backward/cuda_wgmma")
    x = torch.ones(rows, 64, dtype=torch.bfloat16, device="cuda")
    w = torch.full((257, 64), -2.0, dtype=torch.bfloat16, device="cuda")
    labels = torch.arange(rows, device="cuda") % 257
    lse, dloss = (x.double() @ w.double().T).logsumexp(dim=1).float(), x[:, 0].contiguous()
    inputs = (x, w, labels, lse, dloss)
    found = module.run(program, *inputs)
    assert all(one.isfinite().all() for one in found)
    assert relative_error(found[1:], reference(kernel, inputs)[1:]) <= kernel.spec.tolerance.of(
        Dtype.BFLOAT16
    )


@pytest.mark.parametrize(("rows", "hidden"), [(768, 520), (700, 520), (700, 519)])
def test_turns_of_rows_add_up(rows: int, hidden: int) -> None:
    """Three turns, the last one cut or not; rows of whole 16 bytes, and others."""
    kernel, module, program = parts_of("linear_cross_entropy_training/cuda_wgmma")
    module.WEIGHTS_BYTES = 256 * 2504 * 2
    sizes = {"rows": rows, "vocab": 2500, "hidden": hidden}
    inputs = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    error = relative_error(module.run(program, *inputs), reference(kernel, inputs))
    assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16)


@pytest.mark.parametrize("name", ["linear_cross_entropy_backward", "linear_cross_entropy_training"])
@pytest.mark.parametrize("way", ["of_few", "of_parts", "of_small_tiles"])
@pytest.mark.parametrize(
    ("rows", "vocab", "hidden"),
    [
        (1, 1, 1),
        (1, 700, 33),
        (7, 1003, 66),
        (3, 40_001, 69),
        (8, 2757, 2123),
        (20, 3683, 341),
        (16, 9000, 31),
        (33, 999, 513),
        (65, 64, 2050),
        (56, 777, 5947),
        (200, 4097, 264),
    ],
)
def test_few_rows_are_right(
    monkeypatch: pytest.MonkeyPatch, rows: int, vocab: int, hidden: int, way: str, name: str
) -> None:
    """Large and small tiles, or such as blocks share; rows of whole 16 bytes and others, and views."""
    kernel, module, program = parts_of(f"{name}/cuda_wgmma")
    found = {
        (few_rows, "is_small"): way == "of_parts",
        (few_rows, "dx_by_small_tiles"): way == "of_small_tiles",
        (few_rows, "dw_by_small_tiles"): way == "of_small_tiles",
        (powers, "choose"): f"powers_{way}",
        (loose_few, "takes"): False,
        (residues, "takes"): False,
    }
    for (where, function), value in found.items():
        monkeypatch.setattr(where, function, giving(value))
    sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
    x, w, labels, *rest = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    if rows > 1:
        labels[0], labels[1] = -100, vocab - 1
    expected = reference(kernel, (x, w, labels, *rest))
    for late in (0, 1):
        views = [torch.empty(one.numel() + late, dtype=one.dtype, device="cuda")[late:] for one in (x, w)]
        views = [view.view_as(one).copy_(one) for view, one in zip(views, (x, w), strict=True)]
        error = relative_error(module.run(program, *views, labels, *rest), expected)
        assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), late


@pytest.mark.parametrize("factor", [1.0, 2.0, 4.0, 30.0])
def test_a_logit_may_be_far_above_the_sample(factor: float) -> None:
    """Of two rows, in columns beyond the sample; the label of one of them is there."""
    kernel, module, program = parts_of("linear_cross_entropy_training/cuda_wgmma")

    def always(*_: object) -> bool:
        return True

    module.is_worth_a_sample = always
    sizes = {"rows": 300, "vocab": 3000, "hidden": 128}
    x, w, labels, dloss = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    w[2000], w[2999], labels[17] = x[17] * factor, x[18] * factor, 2000
    inputs = (x, w, labels, dloss)
    error = relative_error(module.run(program, *inputs), reference(kernel, inputs))
    assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16)


@pytest.mark.parametrize("name", ["powers_of_parts", "powers_of_small_tiles", "powers_of_tiles"])
@pytest.mark.parametrize(("rows", "vocab", "hidden"), [(347, 583, 1567), (300, 8200, 72), (1030, 65, 200)])
def test_each_kernel_of_powers_is_right(
    monkeypatch: pytest.MonkeyPatch, rows: int, vocab: int, hidden: int, name: str
) -> None:
    kernel, module, program = parts_of("linear_cross_entropy_training/cuda_wgmma")
    monkeypatch.setattr(powers, "choose", giving(name))
    sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
    x, w, labels, dloss = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    labels[0], labels[1] = -100, vocab - 1
    error = relative_error(module.run(program, x, w, labels, dloss), reference(kernel, (x, w, labels, dloss)))
    assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16)


def test_a_last_round_of_tiles_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of dx, whose sums are long."""
    monkeypatch.setattr(products, "SHARED_BYTES", 2**60)
    kernel, module, program = parts_of("linear_cross_entropy_training/cuda_wgmma")
    sizes = {"rows": 3000, "vocab": 20000, "hidden": 2000}
    inputs = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    error = relative_error(module.run(program, *inputs), reference(kernel, inputs))
    assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16)


def test_runs_that_are_wrong_write_to_no_other_row() -> None:
    """Offsets beyond the tokens, and a run that would begin behind its end."""
    kernel, module, program = parts_of("grouped_matmul/cuda_wgmma")
    sizes = {"tokens": 200, "experts": 5, "n": 72, "k": 80}
    x, w, offsets = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    offsets.copy_(torch.tensor([-7, -5, 50, 100, 10**6, 300]))
    expected = reference(kernel, (x, w, torch.tensor([0, 0, 50, 100, 200, 200])))
    assert relative_error((module.run(program, x, w, offsets),), expected) < 8e-3


@pytest.mark.parametrize("places", [0, 1, 3, 6, 8])
def test_runs_of_few_tokens_are_right_wherever_rows_begin(places: int) -> None:
    """Amid numbers that are none: experts without a token, runs of more tokens than a block takes at once."""
    kernel, module, program = parts_of("grouped_matmul/cuda_wgmma")
    for tokens, experts, n, k in (
        (1, 4, 40, 72),
        (16, 64, 131, 1195),
        (5, 3, 17, 1),
        (40, 2, 24, 2056),
        (9, 1, 33, 7),
        (7, 300, 50, 1024),
        (250, 64, 2048, 1111),  # 9 tokens and more in a run here and there, shared memory of blocks before
        (8, 5, 16, 0),
    ):
        sizes = {"tokens": tokens, "experts": experts, "n": n, "k": k}
        inputs = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        x, w = (moved(matrix, places) for matrix in inputs[:2])
        found = module.launch_few_tokens(program, x, w, inputs[2])
        error = relative_error((found,), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.bfloat16, str(sizes)


@pytest.mark.parametrize("by_expert", [False, True])
@pytest.mark.parametrize("places", [0, 1, 3, 8])
def test_one_turn_is_right_wherever_rows_begin(places: int, by_expert: bool) -> None:
    """Sums that fill a turn and not, runs of no token and of more than pass by at once."""
    kernel, _, program = parts_of("grouped_matmul/cuda_wgmma")
    for tokens, experts, n, k in (
        (60, 120, 128, 96),
        (49, 116, 78, 81),
        (5, 3, 17, 1),
        (300, 2, 24, 128),
        (9, 1, 333, 7),
        (7, 300, 50, 250),
        (250, 40, 150, 512),
        (31, 9, 264, 1024),
    ):
        sizes = {"tokens": tokens, "experts": experts, "n": n, "k": k}
        inputs = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        x, w = (moved(matrix, places) for matrix in inputs[:2])
        for sharing, groups in itertools.product((1, 2, 4, 8), (1, 2)):
            if k > 128 * sharing:
                continue
            way = one_turn.Way(sharing, groups, by_expert, 0.0)
            found = one_turn.launch(program, way, x, w, inputs[2])
            error = relative_error((found,), reference(kernel, inputs))
            assert error <= kernel.spec.tolerance.bfloat16, str((sizes, sharing, groups))


def moved(matrix: torch.Tensor, places: int) -> torch.Tensor:
    """The same, beginning so many elements behind 16 bytes."""
    room = torch.full((matrix.numel() + 16,), torch.nan, dtype=matrix.dtype, device=matrix.device)
    return room[places : places + matrix.numel()].view(matrix.shape).copy_(matrix)
