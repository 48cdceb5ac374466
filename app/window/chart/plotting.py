"""pyqtgraph, imported without what the window never uses: that cost a third of the start.

- Its ``Qt`` package copies every name of Qt, and PySide6 makes each class when it is first asked for. Here
  a name is looked up when it is used.
- The CUDA bindings, which it would load to show videos: the window's process never touches CUDA.
- Its widgets for images, colours, trees and parameters.
"""

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import PySide6
from PySide6 import QtCore, QtGui, QtWidgets

_QT = {"QtCore": QtCore, "QtGui": QtGui, "QtWidgets": QtWidgets}
# Modules of which pyqtgraph's own start takes every name, and its plots none.
_UNUSED = (
    *("imageview", "multiprocess"),
    *(
        f"graphicsItems.{name}"
        for name in (
            *("BoxplotItem", "ColorBarItem", "CurvePoint", "DateAxisItem", "GradientLegend"),
            *("GraphItem", "GridItem", "HistogramLUTItem", "IsocurveItem", "PColorMeshItem", "ScaleBar"),
            *("TargetItem", "VTickGroup"),
        )
    ),
    *(
        f"widgets.{name}"
        for name in (
            *("BusyCursor", "CheckTable", "ColorButton", "ColorMapWidget", "ComboBox", "DataFilterWidget"),
            *("DataTreeWidget", "DiffTreeWidget", "FeedbackButton", "GradientWidget", "HistogramLUTWidget"),
            *("JoystickButton", "LayoutWidget", "ProgressDialog", "RawImageWidget"),
            *("ScatterPlotWidget", "TableWidget", "TreeWidget", "ValueLabel"),
        )
    ),
)


class _Forward(ModuleType):
    """Has every name of another module, and lists none."""

    def __init__(self, name: str, target: ModuleType) -> None:
        super().__init__(name)
        self.__dict__["_target"] = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__dict__["_target"], name)
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return []


@contextmanager
def _little() -> Generator[None]:
    stubs: dict[str, ModuleType | None] = {f"pyqtgraph.{name}": ModuleType(name) for name in _UNUSED}
    stubs["cuda.bindings"] = None  # its import fails, as if it were not installed
    stubs = {name: stub for name, stub in stubs.items() if name not in sys.modules}
    sys.modules.update(stubs)  # type: ignore[arg-type] - None makes an import fail
    for name, module in _QT.items():
        sys.modules.setdefault(f"pyqtgraph.Qt.{name}", _Forward(name, module))
        setattr(PySide6, name, _Forward(name, module))
    try:
        yield
    finally:
        for name in stubs:
            del sys.modules[name]
        for name, module in _QT.items():
            setattr(PySide6, name, module)


def _load() -> Any:
    if "pyqtgraph" in sys.modules:  # whole, by somebody else
        return sys.modules["pyqtgraph"]
    try:
        with _little():
            return importlib.import_module("pyqtgraph")
    except (ImportError, AttributeError):  # another version, which needs more of itself
        for name in [name for name in sys.modules if name.partition(".")[0] == "pyqtgraph"]:
            del sys.modules[name]
        return importlib.import_module("pyqtgraph")


_load()
import pyqtgraph as pg  # noqa: E402 - what is in sys.modules by now, with its types

__all__ = ["pg"]
