"""Products of float32 from rows that begin anywhere on a GPU: every tile, shared by any number of blocks."""

import math

import pytest
import torch

from roofscope.kernels.shared import direct_tf32
from roofscope.kernels.shared.loose_tf32 import CLUSTERS, launch, tiles
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

KERNELS = [("matmul_tf32", "cuda_loose", False), ("matmul", "cuda_tf32x3_loose", True)]
# Less than a tile, a step and a word, and somewhat more; each of the four ways in which rows begin.
SIZES = [
    (1, 1, 1),
    (5, 7, 3),
    (31, 66, 30),
    (64, 128, 256),
    (130, 131, 129),
    (257, 19, 4099),
    (16, 1025, 333),
]


def moved(matrix: torch.Tensor, places: int) -> torch.Tensor:
    """The same, beginning so many elements behind 16 bytes, amid numbers that are none."""
    room = torch.full((matrix.numel() + 8,), math.nan, device=matrix.device)
    copy = room[places : places + matrix.numel()].view(matrix.shape)
    return copy.copy_(matrix)


@pytest.mark.parametrize(("name", "stem", "whole"), KERNELS)
def test_every_tile_is_right_wherever_rows_begin(name: str, stem: str, whole: bool) -> None:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    program = hopper_program(name, stem, Dtype.FLOAT32)
    for number, (m, n, k) in enumerate(SIZES):
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, Dtype.FLOAT32, device="cuda")
        expected = reference(kernel, inputs)
        for places in (0, 1 + number % 3):
            a, b = (moved(matrix, places) for matrix in inputs)
            for tile in tiles(whole):
                for cluster in CLUSTERS:
                    error = relative_error((launch(program, tile, cluster, a, b, whole=whole),), expected)
                    assert error <= kernel.spec.tolerance.float32, f"{tile.name}/{cluster}: {m} x {n} x {k}"


def test_infinities_are_those_of_float32() -> None:
    """The rest that TF32 leaves of an infinity is no number, and must not reach the result."""
    program = hopper_program("matmul", "cuda_tf32x3_loose", Dtype.FLOAT32)
    run = load_module(LIBRARY / "matmul" / "cuda_tf32x3_loose.py").run
    a, b = torch.randn(70, 515, device="cuda"), torch.randn(515, 130, device="cuda")
    a[3, 7], a[5, 9], a[8, 100], b[7, 4], b[9, 5] = math.inf, -math.inf, math.nan, 1.0, 0.0
    expected, result = (a.double() @ b.double()).float(), run(program, a, b)
    assert torch.equal(result.isnan(), expected.isnan())
    assert torch.equal(result.isinf(), expected.isinf())


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("places", [0, 1, 2, 3, 4])
def test_short_sums_are_right_straight_from_memory(places: int, many: bool) -> None:
    """Of no whole tile, step or word of k; C of even rows and of odd ones."""
    kernel = CATALOG.kernel("matmul_tf32")
    assert kernel is not None
    program = hopper_program("matmul_tf32", "cuda_loose", Dtype.FLOAT32)
    sizes = (
        (16, 16, 16),
        (33, 47, 1),
        (370, 377, 69),
        (129, 66, 200),
        (40, 31, 132),
        (17, 1601, 32),
        (1601, 17, 33),
    )
    for m, n, k in (*SIZES[:4], *sizes):
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, Dtype.FLOAT32, device="cuda")
        a, b = (moved(matrix, places) for matrix in inputs)
        error = relative_error((direct_tf32.launch(program, a, b, many=many),), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.float32, f"{m} x {n} x {k}"
