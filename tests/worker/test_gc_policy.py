"""No collection runs while a CUDA graph is captured; seeing that needs no GPU."""

import gc

import pytest
import torch

from roofscope.profiling.worker import gc_policy


class Capture:
    """Stands in for ``torch.cuda.graph``."""

    def __init__(self, *, refuses: bool = False) -> None:
        self._refuses = refuses

    def __enter__(self) -> None:
        if self._refuses:
            raise RuntimeError("refused")

    def __exit__(self, *_: object) -> None:
        if self._refuses:
            raise RuntimeError("refused")


@pytest.fixture
def uncollected(monkeypatch: pytest.MonkeyPatch) -> type[Capture]:
    monkeypatch.setattr(torch.cuda, "graph", Capture)
    gc_policy.keep_out_of_captures()
    gc_policy.keep_out_of_captures()  # as a second worker in a process would
    return torch.cuda.graph  # pyright: ignore[reportReturnType]


def test_nothing_is_collected_within_a_capture(uncollected: type[Capture]) -> None:
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert isinstance(uncollected(), Capture)


def test_collections_go_on_after_a_capture_that_fails(uncollected: type[Capture]) -> None:
    with pytest.raises(ValueError, match="kernel"), uncollected():
        raise ValueError("kernel")
    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="refused"):
        uncollected(refuses=True).__enter__()
    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="refused"):
        uncollected(refuses=True).__exit__(None, None, None)
    assert gc.isenabled()


def test_who_collects_by_hand_is_left_alone(uncollected: type[Capture]) -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
