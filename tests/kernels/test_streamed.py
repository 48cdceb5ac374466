"""TF32 products of few rows, for which B streams through the GPU: when they are chosen, and how launched."""

from typing import Any

import pytest
import torch

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.matmul_tf32.streamed import PIECES, launch, piece_of
from roofscope.kernels.shared.limits import shared_limit
from roofscope.tests.kernels.recorder import Recorder


def test_pieces_fit_a_multiprocessor() -> None:
    assert all(piece.shared_bytes <= shared_limit(torch.device("cpu")) for piece in PIECES)


@pytest.mark.parametrize(
    ("m", "n", "k", "streams"),
    [
        (1, 4522, 12847, True),
        (6, 10836, 10900, True),
        (8, 5333, 9364, True),
        (9, 5333, 9364, False),  # of more rows of A each piece takes longer than it takes to come
        (8, 4096, 4096, False),  # of little of B starts and ends take longest
        (1, 4096, 2**29, False),  # 32 bits count bytes of a row
    ],
)
def test_few_rows_stream_a_large_b(m: int, n: int, k: int, streams: bool) -> None:
    assert (piece_of(m, n, k) is not None) == streams


def test_each_multiprocessor_has_a_share() -> None:
    piece = PIECES[0]
    for n, k, blocks in ((4000, 3000, Recorder.multiprocessor_count), (33, 600, 4), (1, 1, 1)):
        recorder: Any = Recorder()
        assert launch(recorder, piece, torch.empty(3, k), torch.empty(n, k)).shape == (3, n)
        ((name, grid, sizes, _),) = recorder.launches
        assert (name, grid, sizes[1:]) == (piece.name, blocks, [3, n, k])
