"""Python's garbage collector, kept where it does no harm and costs little."""

import gc
from typing import Any

import torch


def keep_out_of_captures() -> None:
    """Let every capture of a CUDA graph in this process, torch.compile's own too, be free of collections.

    One that falls into a capture may find a graph or a kernel that nothing refers to any more. The driver
    forbids to destroy either there: the capture fails, and torch.compile's later ones with it (pytorch pull
    request 161037; up to 2.8 torch collected before every capture, which takes a quarter of a second).
    """
    capture: Any = torch.cuda.graph
    if not issubclass(capture, _Uncollected):
        torch.cuda.graph = type("graph", (_Uncollected, capture), {})  # pyright: ignore[reportAttributeAccessIssue]


class _Uncollected:
    """Put before ``torch.cuda.graph`` as a base class."""

    _collects = False

    def __enter__(self) -> Any:
        self._collects = gc.isenabled()
        gc.disable()
        try:
            return super().__enter__()  # pyright: ignore[reportAttributeAccessIssue]
        except BaseException:
            self._resume()
            raise

    def __exit__(self, *raised: object) -> Any:
        try:
            return super().__exit__(*raised)  # pyright: ignore[reportAttributeAccessIssue]
        finally:
            self._resume()

    def _resume(self) -> None:
        if self._collects:
            gc.enable()


def freeze_imports() -> None:
    """Let later collections pass over what is alive now. To be called when that is modules, which stay.

    Torch alone is 190 thousand objects, with its compiler 490: a quarter of a second for each collection.
    """
    gc.collect()
    gc.freeze()
