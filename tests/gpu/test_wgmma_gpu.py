"""The wgmma versions on a Hopper GPU: every tile, C beyond 2^31 elements, every order of causal attention."""

import functools
import math
import random
from typing import Any

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels.cases import (
    CATALOG,
    eager,
    random_inputs,
    reference,
    relative_error,
    signature,
    spoiled_inputs,
)

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.matmul_tf32 import amid
from roofscope.kernels.shared import (
    direct_sums,
    loose_rows,
    loose_tiles,
    mma_attention,
    one_row,
    wgmma_attention,
    wgmma_attention_backward,
    wgmma_matmul,
    wgmma_pitched,
)
from roofscope.kernels.shared.heads import MORE_DIMS
from roofscope.kernels.shared.loose_tiles import SHORT_TILES
from roofscope.kernels.shared.tile_times import IN_TURN
from roofscope.kernels.shared.wgmma_plans import TILES, TILES_AMID_LINES
from roofscope.profiling.worker.build.providers import cuda

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0),
    reason="wgmma is in compute capability 9.0 only",
)
# Cut tiles, rows that are padded, many steps along k, more tiles than multiprocessors.
SIZES = [
    {"m": 1000, "n": 1048, "k": 528},
    {"m": 129, "n": 257, "k": 65},
    {"m": 256, "n": 256, "k": 2048},
    {"m": 4096, "n": 2320, "k": 64},
    {"m": 191, "n": 385, "k": 129},  # rows that begin amid words
    {"m": 7, "n": 66, "k": 1000},
    {"m": 2001, "n": 2203, "k": 70},  # the same, of which a block has more tiles than one
]
NAMES = ["matmul", "matmul_tf32", "matmul_fp8", "matmul_relu", "matmul_bias_gelu"]
CASES = [
    (name, dtype)
    for name in NAMES
    if (kernel := CATALOG.kernel(name))
    for dtype in kernel.spec.dtypes
    if (name, dtype) != ("matmul", Dtype.FLOAT32)
]


@pytest.mark.filterwarnings("ignore")  # the DSL's own
@pytest.mark.parametrize("columns", [128, 256])
@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16], ids=str)
def test_every_tile_in_the_cute_dsl_is_right(
    dtype: Dtype, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cutlass.cute", reason="the CuTe DSL is not installed here")
    kernel = CATALOG.kernel("matmul")
    assert kernel is not None
    module = load_module(kernel.folder / "cute_wgmma.py")
    monkeypatch.setattr(module, "tile_columns", lambda *_: columns)
    for sizes in (*SIZES, {"m": 5, "n": 8, "k": 0}, {"m": 129, "n": 2056, "k": 8}):
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        error = relative_error((module.run(*inputs),), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), str(sizes)


@functools.cache
def built(name: str, dtype: Dtype, stem: str = "cuda_wgmma") -> tuple[Kernel, Any, Any]:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    source = kernel.folder / f"{stem}.cu"
    program = cuda.CudaProgram(source, dtype, "sm_90a", torch.device("cuda", 0))
    return kernel, load_module(source.with_suffix(".py")), program


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_tile_is_right(name: str, dtype: Dtype, tile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the tiles of the last round shared and not."""
    if tile in TILES_AMID_LINES and name in {"matmul_tf32", "matmul_fp8"}:
        pytest.skip("This tile is of 16 bits alone.")
    kernel, module, program = built(name, dtype)
    step = 32 if name == "matmul_tf32" else 128 if name == "matmul_fp8" else 64
    monkeypatch.setattr(loose_rows, "faster_than_tiles", lambda *_: None)
    monkeypatch.setattr(amid, "faster_than_copies", lambda *_: None)
    for sizes in SIZES:
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        m, n, steps = sizes["m"], sizes["n"], -(-sizes["k"] // step)
        for plan in TILES[tile].plans(m, n, steps, program.multiprocessor_count):
            monkeypatch.setattr(wgmma_matmul, "best", lambda *_, plan=plan, **__: (tile, plan))
            error = relative_error((module.run(program, *inputs),), reference(kernel, inputs))
            assert error <= kernel.spec.tolerance.of(dtype), f"{sizes}, {plan}"


@pytest.mark.parametrize("tile", [name for name, tile in TILES.items() if tile.parts == IN_TURN])
@pytest.mark.parametrize("name", ["matmul", "matmul_bias_gelu"])
def test_warpgroups_take_tiles_in_turn(name: str, tile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several a block, of one step, of fewer than stages, and of so many that the ring goes round."""
    kernel, module, program = built(name, Dtype.BFLOAT16)
    monkeypatch.setattr(loose_rows, "faster_than_tiles", lambda *_: None)
    for m, n, k in ((3001, 2600, 64), (3001, 2600, 200), (4000, 3304, 440), (9001, 1304, 2248)):
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, Dtype.BFLOAT16, device="cuda")
        plan = TILES[tile].plan(m, n, -(-k // 64), program.multiprocessor_count)
        assert TILES[tile].count(m, n) * TILES[tile].cluster > 2 * plan.blocks
        monkeypatch.setattr(wgmma_matmul, "best", lambda *_, plan=plan, **__: (tile, plan))
        results = [module.run(program, *inputs) for _ in range(3)]
        error = relative_error((results[0],), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), f"{m} x {n} x {k}"
        assert all(torch.equal(result, results[0]) for result in results)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_the_chosen_tile_is_right_at_any_size(name: str, dtype: Dtype) -> None:
    """Half of them with rows of whole 16 bytes; beyond the tiles above only the choice is new."""
    kernel, module, program = built(name, dtype)
    draw = random.Random(f"{name} {dtype}")
    for _ in range(60):
        m, n, k = (int(2 ** draw.uniform(5, 11)) for _ in range(3))
        if draw.random() < 0.5:
            m, n, k = (size // 16 * 16 for size in (m, n, k))
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, dtype, device="cuda")
        error = relative_error((module.run(program, *inputs),), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{m} x {n} x {k}"


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("cluster", [1, 2, 16])
def test_rows_that_begin_anywhere_are_right_without_a_copy(cluster: int, turned: bool) -> None:
    """Of TF32, by every tile; what lies around the matrices is no number."""
    kernel, _, program = built("matmul_tf32", Dtype.FLOAT32)
    for m, n, k in ((131, 77, 1001), (257, 145, 334), (67, 33, 4099), (13, 300, 77), (64, 64, 31), (8, 9, 4)):
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, Dtype.FLOAT32, device="cuda")
        held = [torch.full((matrix.numel() + 32,), math.nan, device="cuda") for matrix in inputs]
        a, b = (
            room[16 : 16 + matrix.numel()].view(matrix.shape).copy_(matrix)
            for room, matrix in zip(held, inputs, strict=True)
        )
        assert amid.takes(b if turned else a)
        for tile in amid.TILES:
            c = amid.launch(program, tile, cluster, a, b, turned=turned)
            error = relative_error((c,), reference(kernel, inputs))
            assert error <= kernel.spec.tolerance.of(Dtype.FLOAT32), f"{tile}, {m} x {n} x {k}"


LOOSE = [
    # Rows, and parameters of the launch: a tile, blocks that share k.
    *((loose_rows.multiply_few_rows, m, {"cluster": blocks}) for m in (1, 8, 13, 32) for blocks in (1, 2, 8)),
    *((one_row.multiply_one_row, 1, {"cluster": blocks}) for blocks in (1, 2, 4, 8)),
    *((loose_tiles.multiply_short_sums, m, {"name": name}) for m in (1, 70, 2000) for name in SHORT_TILES),
    *((direct_sums.multiply_direct_sums, m, {}) for m in (1, 70, 2000)),
    *(
        (loose_tiles.multiply_long_sums, m, {"cluster": cluster, "shares": shares})
        for m in (1, 70, 150)
        for cluster, shares in ((4, 1), (8, 1), (16, 1), (16, 2), (16, 3))
    ),
]


@pytest.mark.parametrize("offset", [0, 1, 6, 8])
@pytest.mark.parametrize(("product", "m", "given"), LOOSE)
@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16], ids=str)
@pytest.mark.parametrize("name", ["matmul", "matmul_relu", "matmul_bias_gelu"])
def test_rows_are_right_that_begin_anywhere(
    name: str, dtype: Dtype, product: Any, m: int, given: Any, offset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies around A, B and the bias is NaN, so that nothing of it may count."""
    kernel, module, program = built(name, dtype)
    called = functools.partial(product, **given)
    monkeypatch.setattr(loose_rows, "faster_than_tiles", lambda *_: called)
    for n, k in ((1, 1), (7, 31), (64, 32), (257, 29), (1003, 30), (56, 16), (120, 17)):
        longer = k if product is loose_tiles.multiply_short_sums else k * 37
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": longer}, dtype, device="cuda")
        among = tuple(among_nan(matrix, offset) for matrix in inputs)
        error = relative_error((module.run(program, *among),), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{m} x {n} x {longer}"


def among_nan(matrix: torch.Tensor, offset: int) -> torch.Tensor:
    around = torch.full((matrix.numel() + offset + 64,), math.nan, dtype=matrix.dtype, device=matrix.device)
    within = around[offset : offset + matrix.numel()].view(matrix.shape)
    return within.copy_(matrix)


@pytest.mark.parametrize("tile", wgmma_pitched.PITCHED)
@pytest.mark.parametrize("name", ["matmul", "matmul_relu", "matmul_bias_gelu"])
def test_rows_of_c_with_room_between_them_are_right(
    name: str, tile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tile, shared and not; what the kernel writes behind n is no part of the product."""
    dtype = Dtype.BFLOAT16
    kernel, module, program = built(name, dtype, "cuda_wgmma_pitched")
    monkeypatch.setattr(wgmma_pitched, "PITCHED", (tile,))
    for m, n, k in ((129, 257, 65), (2001, 2203, 70), (700, 33, 1000), (1, 1, 1), (4001, 1003, 227)):
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, dtype, device="cuda")
        found = module.run(program, *inputs)
        assert found.shape == (m, n)
        assert found.stride(0) * found.element_size() % 16 == 0
        error = relative_error((found,), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{m} x {n} x {k}"


@pytest.mark.parametrize("offset", [0, 2])  # the launcher copies one that begins amid a pair
@pytest.mark.parametrize("name", ["tile_64x64", "tile_128x256", "across_176x192_above", "across_64x64_4x1"])
def test_tiles_take_a_bias_of_pairs_that_begins_anywhere(name: str, offset: int) -> None:
    """Of an odd number of columns and an even one; what lies around it is NaN."""
    kernel, _, program = built("matmul_bias_gelu", Dtype.BFLOAT16)
    for m, n, k in ((300, 257, 72), (130, 392, 65), (77, 1, 8)):
        a, b, bias = random_inputs(kernel, {"m": m, "n": n, "k": k}, Dtype.BFLOAT16, device="cuda")
        plan = TILES[name].plan(m, n, -(-k // 64), program.multiprocessor_count)
        found = wgmma_matmul.launch(program, name, a, b, a.dtype, among_nan(bias, offset), plan=plan)
        error = relative_error((found,), reference(kernel, (a, b, bias)))
        assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), f"{m} x {n} x {k}"


def test_clusters_of_four_and_eight_find_room() -> None:
    """One block a multiprocessor, and not on all of them."""
    _, _, program = built("matmul", Dtype.BFLOAT16)
    for name in ("across_160x128_2x2", "across_96x128_4x2"):
        tile = TILES[name]
        blocks = program.clusters_at_once(name, tile.threads, tile.cluster, tile.shared_bytes) * tile.cluster
        assert program.multiprocessor_count // 2 < blocks <= program.multiprocessor_count


def test_a_graph_shares_tiles_again() -> None:
    """Flags of parts in memory are as the first launch found them."""
    kernel, _, program = built("matmul", Dtype.BFLOAT16)
    inputs = random_inputs(kernel, {"m": 2560, "n": 2560, "k": 512}, Dtype.BFLOAT16, device="cuda")
    name, expected = "tile_128x256_pair", reference(kernel, inputs)
    plan = TILES[name].plans(2560, 2560, 8, program.multiprocessor_count)[-1]
    assert plan.alone < TILES[name].count(2560, 2560)

    def launch() -> torch.Tensor:
        return wgmma_matmul.launch(program, name, *inputs, torch.bfloat16, plan=plan)

    launch()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = [launch(), launch()]
    for _ in range(3):
        for result in results:
            result.fill_(math.nan)
        graph.replay()
        for result in results:
            assert relative_error((result,), expected) <= kernel.spec.tolerance.of(Dtype.BFLOAT16)


def test_every_tile_of_three_products_is_right() -> None:
    """In float32's tolerance, with sums as long as 8192 too, and with infinities as eager has them."""
    kernel = CATALOG.kernel("matmul")
    assert kernel is not None
    module = load_module(kernel.folder / "cuda_tf32x3.py")
    source = kernel.folder / "cuda_tf32x3.cu"
    program = cuda.CudaProgram(source, Dtype.FLOAT32, "sm_90a", torch.device("cuda", 0))
    for tile in module.TILES:
        for sizes in (*SIZES, {"m": 300, "n": 388, "k": 8192}, {"m": 1, "n": 7, "k": 1}):
            inputs = random_inputs(kernel, sizes, Dtype.FLOAT32, device="cuda")
            expected = reference(kernel, inputs)
            for plan in module.plans_of(tile, *sizes.values(), program.multiprocessor_count):
                error = relative_error((module.launch(program, plan, *inputs),), expected)
                assert error <= kernel.spec.tolerance.float32, f"{plan} at {sizes}"
    for special in (math.nan, math.inf, -math.inf):
        inputs = spoiled_inputs(kernel, Dtype.FLOAT32, special, device="cuda")
        (mine,), (eagers,) = signature((module.run(program, *inputs),)), signature(eager(kernel, inputs))
        assert torch.equal(mine, eagers)


def test_counts_beyond_32_bits() -> None:
    """C has more than 2^31 elements: its last rows are right too."""
    m, n, k = 2**15 + 8, 2**16 + 8, 16
    if torch.cuda.mem_get_info()[0] < 3 * m * n:
        pytest.skip("this GPU has too little free memory for 2^31 elements")
    kernel, module, program = built("matmul", Dtype.BFLOAT16)
    a = torch.empty(m, k, dtype=torch.bfloat16, device="cuda").uniform_(-1, 1)
    b = torch.empty(k, n, dtype=torch.bfloat16, device="cuda").uniform_(-1, 1)
    result = module.run(program, a, b)[-9:].clone()
    error = relative_error((result,), reference(kernel, (a[-9:], b)))
    assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("dim", MORE_DIMS)
@pytest.mark.parametrize("group", [1, 4, 32, 76, 133])
def test_every_order_of_causal_tiles_is_right(
    group: int, dim: int, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several turns, the last one not full; heads beyond whole groups, none, and but one group."""
    kernel, module, program = built("attention_causal", Dtype.BFLOAT16)
    monkeypatch.setattr(wgmma_attention, "heads_of_group", lambda *_: group)
    monkeypatch.setattr(wgmma_attention, "is_drawn", lambda *_: drawn)
    inputs = random_inputs(
        kernel, {"batch": 7, "heads": 19, "seq": 513, "dim": dim}, Dtype.BFLOAT16, device="cuda"
    )
    error = relative_error((module.run(program, *inputs),), reference(kernel, inputs))
    assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16)


@pytest.mark.parametrize("dim", MORE_DIMS)
@pytest.mark.parametrize("name", ["attention", "attention_causal"])
def test_attention_of_every_length_is_right(name: str, dim: int) -> None:
    """Ends of a head before, at and after those of its tiles and steps."""
    kernel, module, program = built(name, Dtype.BFLOAT16)
    for seq in (1, 63, 64, 81, 96, 113, 127, 128, 129, 192, 193, 225, 257, 385, 1000):
        sizes = {"batch": 1, "heads": 2, "seq": seq, "dim": dim}
        inputs = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        error = relative_error((module.run(program, *inputs),), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), str(sizes)


@pytest.mark.parametrize("dim", MORE_DIMS)
@pytest.mark.parametrize("version", ["cuda_wgmma", "cuda_mma", "cuda_naive"])
def test_any_window_is_right(version: str, dim: int) -> None:
    """Windows of one key, below, at and above those of a step, and longer than the sequence."""
    kernel = CATALOG.kernel("attention_sliding_window")
    assert kernel is not None
    source = kernel.folder / f"{version}.cu"
    program = cuda.CudaProgram(source, Dtype.BFLOAT16, "sm_90a", torch.device("cuda", 0))
    judge = load_module(kernel.folder / "reference.py").attend
    for seq in (1, 129, 500):
        sizes = {"batch": 1, "kv_heads": 2, "group": 3, "seq": seq, "dim": dim}
        q, k, v = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        for window in (1, 17, 64, 100, 129, 256, 700):
            if version == "cuda_wgmma":
                found = wgmma_attention.attend(
                    program, version, q, k, v, causal=True, sharing=3, window=window
                )[0]
            elif version == "cuda_mma":
                found = mma_attention.attend(program, version, q, k, v, 3, window=window)[0]
            else:
                found = load_module(source.with_suffix(".py")).attend(program, q, k, v, window)
            error = relative_error((found,), (judge(q, k, v, window)[0],))
            assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), f"{sizes}, {window}"


@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16], ids=str)
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("name", ["attention_backward", "attention_backward_causal"])
@pytest.mark.parametrize(("within", "whole"), [(None, None), (5, None), (4, 40), (0, 0)])
def test_gradients_of_many_key_blocks_are_right(
    name: str,
    dim: int,
    dtype: Dtype,
    within: int | None,
    whole: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two blocks take dozens of key blocks in turn, and add to the same queries; steps and keys are cut.

    Of ``within`` heads a block's other warps prepare the steps and finish the sums. All but ``whole`` tiles
    are divided.
    """
    kernel, module, program = built(name, dtype)
    monkeypatch.setattr(wgmma_attention_backward, "short_plan", lambda *_, **__: None)
    monkeypatch.setattr(wgmma_attention_backward, "blocks_of", lambda *_: 2)
    if within is not None:
        monkeypatch.setattr(wgmma_attention_backward, "heads_within", lambda *_: within)
    if whole is not None:
        monkeypatch.setattr(wgmma_attention_backward, "whole_tiles", lambda tiles, *_: min(tiles, whole))
    for seq in (129, 577, 1000):
        sizes = {"batch": 2, "heads": 3, "seq": seq, "dim": dim}
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        found = module.run(program, *inputs)
        for one, wanted in zip(found, reference(kernel, inputs), strict=True):
            assert relative_error((one,), (wanted,)) <= kernel.spec.tolerance.of(dtype), str(sizes)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16], ids=str)
@pytest.mark.parametrize("name", ["attention_backward", "attention_backward_causal"])
@pytest.mark.parametrize(("within", "whole"), [(None, None), (5, None), (4, 10), (0, 0)])
@pytest.mark.parametrize("clusters", [1, 2, None])
def test_gradients_of_pairs_of_blocks_are_right(
    name: str,
    dtype: Dtype,
    within: int | None,
    whole: int | None,
    clusters: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pairs take one or several tiles of a head, and share steps; steps and the last keys are cut."""
    kernel, module, program = built(name, dtype)
    monkeypatch.setattr(wgmma_attention_backward, "short_plan", lambda *_, **__: None)
    monkeypatch.setattr(wgmma_attention_backward, "blocks_together", lambda *_, **__: 2)
    if clusters is not None:
        monkeypatch.setattr(wgmma_attention_backward, "blocks_of", lambda *_: clusters)
    if within is not None:
        monkeypatch.setattr(wgmma_attention_backward, "heads_within", lambda *_: within)
    if whole is not None:
        monkeypatch.setattr(wgmma_attention_backward, "whole_tiles", lambda tiles, *_: min(tiles, whole))
    for seq in (129, 256, 449, 1000):  # an even number of tiles a head
        sizes = {"batch": 2, "heads": 3, "seq": seq, "dim": 128}
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        found = module.run(program, *inputs)
        for one, wanted in zip(found, reference(kernel, inputs), strict=True):
            assert relative_error((one,), (wanted,)) <= kernel.spec.tolerance.of(dtype), str(sizes)


@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("group", [1, 4])
def test_causal_gradients_are_right_group_by_group(
    group: int, dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine heads, so that the first of two groups is of five, in the order that long heads have."""
    kernel, module, program = built("attention_backward_causal", Dtype.BFLOAT16)
    monkeypatch.setattr(wgmma_attention_backward, "short_plan", lambda *_, **__: None)
    monkeypatch.setattr(wgmma_attention_backward, "group_of", lambda *_: group)
    for seq in (129, 1000):
        sizes = {"batch": 3, "heads": 3, "seq": seq, "dim": dim}
        inputs = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        found = module.run(program, *inputs)
        for one, wanted in zip(found, reference(kernel, inputs), strict=True):
            assert relative_error((one,), (wanted,)) <= kernel.spec.tolerance.of(Dtype.BFLOAT16), str(sizes)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16], ids=str)
@pytest.mark.parametrize("dim", [64, 96, 128, 192])
@pytest.mark.parametrize("name", ["attention_causal", "attention_causal_gqa"])
def test_divided_causal_tiles_are_put_together(
    name: str, dim: int, dtype: Dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks of one step that a warpgroup sees nothing of, of many tiles and heads, and of a part of one."""
    kernel, module, program = built(name, dtype)
    monkeypatch.setattr(wgmma_attention, "divides_causal", lambda *_: True)
    for batch, kv_heads, sharing, seq in ((1, 1, 1, 1), (2, 3, 2, 300), (1, 1, 3, 4000), (3, 20, 2, 193)):
        heads = {"heads": kv_heads * sharing}
        if name == "attention_causal_gqa":
            heads = {"kv_heads": kv_heads, "group": sharing}
        sizes = {"batch": batch} | heads | {"seq": seq, "dim": dim}
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        error = relative_error((module.run(program, *inputs),), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), str(sizes)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16], ids=str)
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("whole", [0, 1, 7])
def test_divided_tiles_are_put_together(
    whole: int, dim: int, dtype: Dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks of a tile, of several, and of one step; a last step and a last tile that are cut."""
    kernel, module, program = built("attention", dtype)
    monkeypatch.setattr(wgmma_attention, "whole_tiles", lambda tiles, *_: min(tiles, whole))
    for sizes in ((1, 1, 1), (2, 3, 300), (1, 2, 4000), (3, 50, 129)):
        named = dict(zip(("batch", "heads", "seq"), sizes, strict=True)) | {"dim": dim}
        inputs = random_inputs(kernel, named, dtype, device="cuda")
        error = relative_error((module.run(program, *inputs),), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), str(named)
