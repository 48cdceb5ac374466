"""What a call returned: plain tensors, each in memory of its own."""

import pytest
import torch

from roofscope.profiling.results.outcome import FailureKind
from roofscope.profiling.worker.candidate.messages import Layout
from roofscope.profiling.worker.candidate.snapshot import alias_fault, poison, snapshot
from roofscope.profiling.worker.failures import WrongResult

X = torch.arange(24.0).view(4, 6)


def fresh() -> torch.Tensor:
    return torch.ones(4, 6)


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ((X,), "its output in the memory of its input;"),
        ((X.t(),), "its output in the memory of its input;"),
        ((fresh(), X[3:, 5:]), "its second output in the memory of its input;"),
        (
            (torch.ones(1, 6).expand(4, 6),),
            "of shape (4, 6) with strides (0, 1), where several elements are one",
        ),
        ((torch.ones(30).as_strided((4, 6), (3, 1)),), "where several elements are one"),
    ],
)
def test_memory_that_is_not_its_own_is_refused(outputs: tuple[torch.Tensor, ...], words: str) -> None:
    fault = alias_fault((X,), outputs)
    assert fault is not None
    assert words in fault
    with pytest.raises(WrongResult, match="memory of its own") as caught:
        snapshot((X,), outputs)
    assert caught.value.kind is FailureKind.ALIASED


def test_outputs_that_share_memory_are_refused() -> None:
    both = torch.ones(48)
    for one, other in (
        (both, both),
        (both[:30], both[29:]),
        (both[::2], both[46:]),
        (both, both.view(torch.int16)[3:4]),
    ):
        assert alias_fault((X,), (one, fresh(), other)) == (
            "returned its first and its third output in the same memory; write each to memory of its own."
        )


def test_views_of_new_memory_are_well() -> None:
    both = torch.ones(4, 12)
    for outputs in (
        (torch.ones(6, 4).t(),),
        (torch.ones(4, 6, 2)[..., 0],),
        (both[:, :6], both[:, 6:]),  # halves of one tensor, row by row
        (both.view(-1)[::2], both.view(-1)[1::2]),
        (torch.ones(0, 6), torch.ones(0).expand(5, 0)),
        (torch.ones(1).expand(1, 1),),
        (torch.tensor(1.0),),
    ):
        assert alias_fault((X, torch.ones(0)), outputs) is None
        assert all(map(torch.equal, snapshot((X,), outputs), outputs))


def test_a_copy_is_kept_in_the_order_of_its_elements() -> None:
    [kept] = snapshot((), (X.clone().t(),))
    assert kept.is_contiguous()
    assert torch.equal(kept, X.t())


def test_a_tensor_class_of_its_own_is_refused() -> None:
    class Lazy(torch.Tensor):
        pass

    with pytest.raises(WrongResult, match="returned a Lazy") as caught:
        snapshot((), (torch.ones(3).as_subclass(Lazy),))
    assert caught.value.kind is FailureKind.NOT_PLAIN


def test_poison_takes_every_type_of_output() -> None:
    dtypes = ["bfloat16", "int8", "uint8", "int64", "float8_e4m3fn"]
    poison([Layout((3,), dtype) for dtype in dtypes], torch.device("cpu"))
