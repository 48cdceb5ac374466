"""When Python's collector may run: never during a capture, and over few objects otherwise."""

import gc
from typing import Any

import torch


def keep_out_of_captures() -> None:
    """Keep collections out of every capture of a CUDA graph in this process, torch.compile's own included.

    A collection during a capture may destroy a graph or a kernel that is no longer referenced. The driver
    forbids that: the capture fails, and so do torch.compile's later ones (pytorch pull request 161037; up to
    2.8 torch collected before every capture, which takes a quarter of a second).
    """
    capture: Any = torch.cuda.graph
    if not issubclass(capture, _Uncollected):
        torch.cuda.graph = type("graph", (_Uncollected, capture), {})  # pyright: ignore[reportAttributeAccessIssue]


class _Uncollected:
    """A base class that comes before ``torch.cuda.graph``."""

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
    """Exclude what is alive now from later collections. Call it when that is modules, which stay anyway.

    Torch alone is 190 thousand objects, with its compiler 490 thousand: a quarter of a second a collection.
    """
    gc.collect()
    gc.freeze()
