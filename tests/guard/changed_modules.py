"""Changes modules of the program once they are loaded, in the processes that tests start."""

import importlib.abc
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

Changes = Mapping[str, Callable[[ModuleType], None]]  # by the module's full name


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules as Python does."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        change = self._changes.get(fullname)
        spec = PathFinder.find_spec(fullname, path) if change else None
        if spec is not None and change is not None:
            spec.loader = _Loader(spec.loader, change)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, own: Any, change: Callable[[ModuleType], None]) -> None:
        self._own, self._change = own, change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        self._change(module)
