"""TF32 products of few rows, for which B streams, on a GPU: shares that meet, rows that begin anywhere."""

import math

import pytest
import torch

from roofscope.kernels.matmul_tf32.streamed import PIECES, Piece, launch
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

# Less than a piece and some more; a tile of many blocks, many tiles of a block; each way in which rows begin.
SIZES = [
    (1, 1),
    (7, 3),
    (66, 30),
    (33, 257),
    (128, 256),
    (19, 40001),
    (131, 9001),
    (300, 5003),
    (9001, 130),
    (5000, 514),
]


def moved(matrix: torch.Tensor, places: int) -> torch.Tensor:
    """The same, beginning so many elements behind 16 bytes, amid numbers that are none."""
    room = torch.full((matrix.numel() + 8,), math.nan, device=matrix.device)
    copy = room[places : places + matrix.numel()].view(matrix.shape)
    return copy.copy_(matrix)


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_any_share_is_right_wherever_rows_begin(piece: Piece) -> None:
    kernel = CATALOG.kernel("matmul_tf32")
    assert kernel is not None
    program = hopper_program("matmul_tf32", "cuda_loose", Dtype.FLOAT32)
    for number, (n, k) in enumerate(SIZES):
        for m in (1, piece.room // 2 + 1, piece.room):
            inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, Dtype.FLOAT32, device="cuda")
            expected = reference(kernel, inputs)
            for places in (0, 1 + number % 3):
                a, b = (moved(matrix, places) for matrix in inputs)
                first, again = launch(program, piece, a, b), launch(program, piece, a, b)
                error = relative_error((first,), expected)
                assert error <= kernel.spec.tolerance.float32, f"{piece.name}: {m} x {n} x {k} from {places}"
                assert torch.equal(first, again)


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_parts_meet_in_a_graph_that_runs_again(piece: Piece) -> None:
    kernel = CATALOG.kernel("matmul_tf32")
    assert kernel is not None
    program = hopper_program("matmul_tf32", "cuda_loose", Dtype.FLOAT32)
    inputs = random_inputs(kernel, {"m": piece.room, "n": 200, "k": 20001}, Dtype.FLOAT32, device="cuda")
    expected = launch(program, piece, *inputs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = [launch(program, piece, *inputs) for _ in range(3)]
    for _ in range(3):
        for result in results:
            result.zero_()
        graph.replay()
        assert all(torch.equal(result, expected) for result in results)
