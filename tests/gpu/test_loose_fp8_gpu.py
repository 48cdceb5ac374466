"""Products of FP8 from rows that begin anywhere on a GPU: every tile, shared by any number of blocks."""

import pytest
import torch

from roofscope.kernels.shared.loose_fp8 import CLUSTERS, SHORT_TILES, TILES, launch, launch_short
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

KERNELS = ["matmul_fp8", "matmul_fp8_blocks"]
# Less than a tile, a step and a word, and somewhat more; each of the ways in which rows begin.
SIZES = [
    (1, 1, 1),
    (5, 7, 3),
    (31, 66, 30),
    (64, 128, 256),
    (130, 131, 129),
    (257, 19, 4099),
    (16, 1025, 1333),
    (70, 300, 1028),
]

# Rows of C that begin in each place of a word, in one tile and in several, of up to three blocks of scales,
# more rows than blocks take at once, and blocks that go from some columns of C to others.
SHORT_SIZES = [
    (1, 1, 1),
    (5, 7, 3),
    (31, 66, 30),
    (130, 131, 127),
    (257, 19, 99),
    (70, 300, 128),
    (129, 261, 17),
    (200, 1002, 48),
    (63, 768, 16),
    (300, 1021, 90),
    (20001, 131, 37),
    (20000, 266, 100),
    (9001, 1301, 20),
]


def moved(matrix: torch.Tensor, places: int) -> torch.Tensor:
    """The same, beginning so many elements behind 16 bytes, amid numbers that are none."""
    room = torch.full((matrix.numel() + 32,), 0x7F, dtype=torch.uint8, device=matrix.device)
    copy = room[places : places + matrix.numel()].view(matrix.dtype).view(matrix.shape)
    return copy.copy_(matrix)


@pytest.mark.parametrize("name", KERNELS)
def test_every_tile_is_right_wherever_rows_begin(name: str) -> None:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    program = hopper_program(name, "cuda_loose", Dtype.BFLOAT16)
    for number, (m, n, k) in enumerate(SIZES):
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, Dtype.BFLOAT16, device="cuda")
        expected = reference(kernel, inputs)
        for places in (0, 4, 1 + number * 2):
            a, b = moved(inputs[0], places), moved(inputs[1], (places * 3) % 16)
            for tile in TILES:
                for cluster in CLUSTERS:
                    result = launch(program, tile, cluster, a, b, *inputs[2:])
                    error = relative_error((result,), expected)
                    assert error <= kernel.spec.tolerance.bfloat16, f"{tile.name}/{cluster}: {m} x {n} x {k}"


@pytest.mark.parametrize("name", KERNELS)
def test_every_tile_of_short_sums_is_right_wherever_rows_begin(name: str) -> None:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    program = hopper_program(name, "cuda_loose", Dtype.BFLOAT16)
    for number, (m, n, k) in enumerate(SHORT_SIZES):
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, Dtype.BFLOAT16, device="cuda")
        expected = reference(kernel, inputs)
        for places in (0, 4, 1 + number % 15):
            a, b = moved(inputs[0], places), moved(inputs[1], (places * 3) % 16)
            for tile in SHORT_TILES:
                result = launch_short(program, tile, a, b, *inputs[2:])
                error = relative_error((result,), expected)
                assert error <= kernel.spec.tolerance.bfloat16, f"{tile.name}: {m} x {n} x {k}"


@pytest.mark.parametrize("name", KERNELS)
def test_short_sums_keep_what_is_no_number_in_its_row_and_column(name: str) -> None:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    program = hopper_program(name, "cuda_loose", Dtype.BFLOAT16)
    a, b, *scales = random_inputs(kernel, {"m": 70, "n": 135, "k": 35}, Dtype.BFLOAT16, device="cuda")
    # Beside the ends of rows, which words of 16 bytes have in common.
    a.view(torch.uint8)[3, 34], b.view(torch.uint8)[7, 0] = 0x7F, 0xFF
    for tile in SHORT_TILES:
        found = launch_short(program, tile, a, b, *scales).isnan()
        expected = torch.zeros_like(found)
        expected[3], expected[:, 7] = True, True
        assert torch.equal(found, expected), tile.name


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_no_number_stays_in_its_row_and_column(name: str) -> None:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    program = hopper_program(name, "cuda_loose", Dtype.BFLOAT16)
    a, b, *scales = random_inputs(kernel, {"m": 70, "n": 135, "k": 515}, Dtype.BFLOAT16, device="cuda")
    a.view(torch.uint8)[3, 514], b.view(torch.uint8)[7, 0] = 0x7F, 0xFF
    run = load_module(LIBRARY / name / "cuda_loose.py").run
    found = run(program, a, b, *scales).isnan()
    expected = torch.zeros_like(found)
    expected[3], expected[:, 7] = True, True
    assert torch.equal(found, expected)


@pytest.mark.parametrize("cluster", [1, 2, 3, 8])
def test_scaled_blocks_that_share_a_tile_of_wgmma_add_up(cluster: int) -> None:
    kernel = CATALOG.kernel("matmul_fp8_blocks")
    assert kernel is not None
    program = hopper_program("matmul_fp8_blocks", "cuda_wgmma", Dtype.BFLOAT16)
    module = load_module(LIBRARY / "matmul_fp8_blocks" / "cuda_wgmma.py")
    for m, n, k in ((1, 1, 1), (70, 300, 1028), (129, 131, 4099), (200, 256, 2048)):
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, Dtype.BFLOAT16, device="cuda")
        for name in module.SHARED:
            result = module.launch_shared(program, name, cluster, *inputs)
            error = relative_error((result,), reference(kernel, inputs))
            assert error <= kernel.spec.tolerance.bfloat16, f"{name}: {m} x {n} x {k}"
