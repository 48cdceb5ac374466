"""The calls that ``differentiable`` makes attention of: their numbers for views, and inputs that disagree."""

from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
import torch

from roofscope.kernels.shared import mma_attention
from roofscope.kernels.shared.heads import aligned, empty_like, require_like, results_of
from roofscope.profiling.worker.failures import Refusal
from roofscope.tests.kernels import interpreted


def views(count: int, dtype: torch.dtype = torch.float16) -> list[torch.Tensor]:
    """(batch, heads, seq, dim) as most models have it: the heads of each row lie side by side."""
    return [torch.randn(1, 40, 2, 64).to(dtype).transpose(1, 2) for _ in range(count)]


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
def test_triton_gives_the_same_for_views(interpreters: ProcessPoolExecutor, causal: bool) -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    assert interpreters.submit(interpreted.attention_by_strides, causal).result() == [0.0] * 5


@pytest.mark.parametrize(
    ("dim", "windows", "seq", "skips"),
    [
        (64, [1, 64, 65, 200, 1000], 257, True),  # a key, whole blocks and a part, and more than there are
        (64, [100], 257, False),
        (96, [129], 200, True),
        pytest.param(128, [1, 127, 128, 129, 300], 400, True, marks=pytest.mark.exhaustive),
        pytest.param(192, [64, 130], 300, True, marks=pytest.mark.exhaustive),
        pytest.param(256, [100, 130], 300, False, marks=pytest.mark.exhaustive),
    ],
)
def test_triton_takes_any_window(
    interpreters: ProcessPoolExecutor, dim: int, windows: list[int], seq: int, skips: bool
) -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    errors = interpreters.submit(interpreted.windows_of_attention, dim, windows, seq, skips).result()
    assert max(errors) < 1e-3


class Program:
    """Keeps what is launched."""

    def __init__(self) -> None:
        self.launched: dict[str, list[torch.Tensor]] = {}

    def launch(self, name: str, _grid: Any, _block: Any, *arguments: Any, **_options: Any) -> None:
        self.launched[name] = [x for x in arguments if isinstance(x, torch.Tensor)]


def test_cuda_is_launched_on_tensors_in_one_run() -> None:
    program: Any = Program()
    q, k, v, o, do = views(5)
    lse = torch.randn(1, 40, 2).transpose(1, 2)
    mma_attention.attend(program, "attention/cuda_mma", q, k, v)
    mma_attention.gradients(program, "attention_backward/cuda_mma", q, k, v, o, lse, do)
    assert set(program.launched) == {"attention_64", "delta_64", "queries_64", "keys_64"}
    for tensors in program.launched.values():
        assert all(x.is_contiguous() for x in tensors)
    for found, given in zip(program.launched["queries_64"], (q, k, v, lse, do), strict=False):
        assert torch.equal(found, given)


def test_copies_are_made_only_where_they_must_be() -> None:
    q = views(1)[0]
    whole = q.contiguous()
    assert aligned(whole)[0] is whole
    copy = aligned(q)[0]
    assert copy.is_contiguous()
    assert torch.equal(copy, q)
    assert empty_like(q).is_contiguous()
    assert all(x.is_contiguous() for x in results_of(q))


def test_inputs_that_disagree_are_one_sentence() -> None:
    q, k = torch.ones(1, 4, 8, 64), torch.ones(1, 2, 8, 64)
    with pytest.raises(Refusal) as refused:
        require_like("attention/cuda_mma", q, k=k)
    assert str(refused.value) == (
        "attention/cuda_mma takes tensors of one shape, type and device: "
        "q has (1, 4, 8, 64) of float32 on cpu, k has (1, 2, 8, 64) of float32 on cpu."
    )
    with pytest.raises(Refusal, match=r"v has .* of float16"):
        require_like("attention/cuda_mma", q, v=q.half())
