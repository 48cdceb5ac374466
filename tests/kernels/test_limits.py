"""Sizes at which 32-bit counts end: right numbers beyond, or one sentence, before anything is launched."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.worker.failures import Refusal
from roofscope.tests.kernels import interpreted, interpreter

triton = pytest.importorskip("triton", reason="Triton is not installed here")


@pytest.fixture
def one_interpreter() -> Iterator[ProcessPoolExecutor]:
    """A process of its own: a read beside the memory would end it."""
    with interpreter.start(1) as pool:
        yield pool


def test_a_product_with_many_columns_reads_its_own_rows(
    one_interpreter: ProcessPoolExecutor, tmp_path: Path
) -> None:
    """B is 11 GB of zeros that no disk holds, but 1 in row 0 and 2 in row 32; A counts its columns from 1."""
    found = one_interpreter.submit(interpreted.first_tile, tmp_path / "b").result()
    assert found == [1.0 * 1 + 33.0 * 2] * 64


MOST = 2**31 - 2**20
ROWS = "counts in 32 bits: 2147483647 rows and 2146435072 columns at most, not {} x {}."
PRODUCT = "counts rows and columns in 32 bits; these sizes are larger."
IN_TILE = "holds a row in one tile, of 1048576 columns at most, not 1048577."
SUMMED_IN_TILE = "holds a row in one tile, of 32768 columns at most, not 1048577."
LONG, WIDE = (2, MOST + 1), (2, 2**20 + 1)

REFUSED: list[tuple[str, list[tuple[int, ...]], str]] = [
    *(
        (key, [LONG, (LONG[1],), (LONG[1],)][:count], ROWS.format(*LONG))
        for key, count in (
            ("layer_norm/triton_loop", 3),
            ("rms_norm/triton_loop", 2),
            ("softmax/triton_online", 1),
            ("quantize_int8/triton_rows", 1),
            ("row_loop/triton_row", 1),
        )
    ),
    ("softmax/triton_online", [(2**31, 1)], ROWS.format(2**31, 1)),
    ("cross_entropy/triton_online", [LONG, (2,)], ROWS.format(*LONG)),
    ("dequantize_int8/triton_tiles", [LONG, (2,)], ROWS.format(*LONG)),
    ("softmax_backward/triton_registers", [LONG, LONG], ROWS.format(*LONG)),
    ("layer_norm_backward/triton_phases", [LONG, LONG, (LONG[1],), (2,), (2,)], ROWS.format(*LONG)),
    ("rms_norm_backward/triton_phases", [LONG, LONG, (LONG[1],), (2,)], ROWS.format(*LONG)),
    ("weighted_sum_backward/triton_fused", [(2,), LONG, (LONG[1],)], ROWS.format(*LONG)),
    ("weighted_sum_backward/triton_phases", [(2,), LONG, (LONG[1],)], ROWS.format(*LONG)),
    *(
        (key, [WIDE, *others], IN_TILE)
        for key, others in (
            ("add_rms_norm/triton_registers", [WIDE, (WIDE[1],)]),
            ("layer_norm/triton_registers", [(WIDE[1],), (WIDE[1],)]),
            ("rms_norm/triton_registers", [(WIDE[1],)]),
            ("softmax/triton_registers", []),
        )
    ),
    ("layer_norm_backward/triton_persistent", [WIDE, WIDE, (WIDE[1],), (2,), (2,)], SUMMED_IN_TILE),
    ("rms_norm_backward/triton_persistent", [WIDE, WIDE, (WIDE[1],), (2,)], SUMMED_IN_TILE),
    (
        "cumsum/triton_tiles",
        [(1, 65535 * 32768 + 1)],
        "takes few rows in 65535 pieces at most, so 2147450880 columns, not 2147450881.",
    ),
    (
        "matmul_w4a16/triton_halves",
        [(65535 * 32 + 1, 64), (8, 1, 32), (8, 1)],
        "takes 2097120 rows of x at most, not 2097121.",
    ),
    ("matmul/triton_grouped", [(2, 3), (3, 2**31 - 4096)], PRODUCT),
    ("matmul/triton_persistent_tma", [(2**31 - 4096, 3), (3, 2)], PRODUCT),
    ("matmul_relu/triton_persistent_tma", [(2, 2**31), (2**31, 2)], PRODUCT),
    *(
        (f"{kernel}/triton_flash", [(1, 1, 2**31 // dim - 127, dim)] * count, "counts the elements of a head")
        for kernel, count in (("attention", 3), ("attention_causal", 3))
        for dim in (64, 128)
    ),
]


@pytest.mark.parametrize(("key", "shapes", "sentence"), REFUSED, ids=lambda value: str(value)[:40])
def test_sizes_beyond_are_one_sentence(key: str, shapes: list[tuple[int, ...]], sentence: str) -> None:
    """On tensors without memory: what is refused touches none."""
    inputs = [torch.empty(shape, dtype=torch.float16, device="meta") for shape in shapes]
    with pytest.raises(Refusal) as refused:
        load_module(LIBRARY / f"{key}.py").run(*inputs)
    assert sentence in str(refused.value)


def test_gradients_of_too_long_heads_are_refused() -> None:
    x, lse = (torch.empty(s, device="meta") for s in ((1, 1, 2**24, 128), (1, 1, 2**24)))
    for kernel in ("attention_backward", "attention_backward_causal"):
        with pytest.raises(Refusal, match="32 bits: 16777088 rows at most, not 16777216"):
            load_module(LIBRARY / kernel / "triton_flash.py").run(x, x, x, x, lse, x)


@pytest.mark.parametrize("kernel", ["cuda_ffma", "cuda_mma"])
def test_products_in_cuda_refuse_the_same(kernel: str) -> None:
    a, b = (
        torch.empty(s, dtype=torch.float16, device="meta") for s in ((1, 2**31 - 4096), (2**31 - 4096, 4))
    )
    with pytest.raises(Refusal, match="in 32 bits"):
        load_module(LIBRARY / "matmul" / f"{kernel}.py").run(None, a, b)


def test_packs_that_32_bits_do_not_count_are_refused() -> None:
    x, b = (torch.empty(s, dtype=torch.float32, device="meta") for s in ((2**24, 2**10 + 1), (2**10 + 1,)))
    with pytest.raises(Refusal, match=r"in 32 bits; 68786585600 are too many\.$"):
        load_module(LIBRARY / "bias_gelu" / "cuda_packed.py").run(None, x, b)


@pytest.mark.parametrize("grid", [2**31, (1, 65536), (1, 1, 65536)], ids=str)
def test_a_grid_that_cuda_does_not_launch_is_refused(grid: Any) -> None:
    """Rows of 2^28 numbers have more strips of dequantize_int8 than a grid has blocks along y."""
    cuda = pytest.importorskip("roofscope.profiling.worker.build.providers.cuda")
    program = object.__new__(cuda.CudaProgram)  # nothing of it is needed before the grid is known to be right
    with pytest.raises(Refusal, match=r"^it would need a grid of .* 2147483647 x 65535 x 65535 at most\.$"):
        program.launch("it", grid, 32)
