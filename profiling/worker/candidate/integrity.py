"""Whether foreign code has replaced parts of the engine, of torch or of Python that a number rests on.

The referee's own clock and contents do not depend on this process. This check is the layer in front of them:
it names what was replaced, and by which file.
"""

import builtins
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import torch

_ENGINE = "roofscope.profiling"
_PLAIN = (int, float, str, bytes, tuple, frozenset)
_KINDS = (FunctionType, property, classmethod, staticmethod, *_PLAIN)
# What the engine calls while it builds, times and lends. "Class.name" is an attribute of a class.
_ENTRY_POINTS: dict[str, tuple[str, ...]] = {
    "torch": ("empty", "as_tensor", "frombuffer", "equal", "cuda", "Tensor", "Tensor.clone", "Tensor.copy_",
              "Tensor.data_ptr", "Tensor.view", "Tensor.as_strided", "Tensor.cpu", "Tensor.numel"),
    "torch.cuda": ("Event", "Event.record", "Event.elapsed_time", "Event.synchronize", "Event.query",
                   "CUDAGraph", "CUDAGraph.replay", "CUDAGraph.capture_begin", "CUDAGraph.capture_end",
                   "CUDAGraph.raw_cuda_graph", "Stream", "Stream.synchronize", "ExternalStream", "stream",
                   "current_stream", "synchronize", "_sleep", "graph", "memory_stats", "graph_pool_handle",
                   "is_current_stream_capturing", "empty_cache"),
    "torch.autograd.profiler": ("profile", "profile.__enter__", "profile.__exit__", "_disable_profiler",
                                "profile.export_chrome_trace"),
    "torch.profiler": ("profile", "ProfilerActivity"),
    "time": ("perf_counter", "perf_counter_ns", "monotonic", "sleep", "time"),
    "gc": ("collect", "disable", "enable", "isenabled"),
    "os": ("_exit", "read", "write", "kill"),
    "sys": ("_getframe", "getprofile", "gettrace"),
    "builtins": ("__import__", "sum", "min", "max", "len", "range", "zip", "sorted", "isinstance", "type",
                 "getattr", "id"),
    "cuda.bindings.driver": ("cuGraphLaunch", "cuGraphUpload", "cuGraphInstantiate", "cuGraphCreate",
                             "cuGraphAddChildGraphNode", "cuGraphGetNodes", "cuGraphNodeGetType",
                             "cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetAttribute",
                             "cuGraphChildGraphNodeGetGraph", "cuStreamGetAttribute", "cuStreamSetAttribute",
                             "cuLaunchKernel", "cuIpcGetMemHandle", "cuMemGetAddressRange"),
}  # fmt: skip
_MODULES: dict[str, ModuleType] = {module.__name__: module for module in (torch, time, gc, os, sys, builtins)}
_BUILTINS = frozenset(name for name in vars(builtins) if not name.startswith("__"))
_trace_function, _profile_function = sys.gettrace, sys.getprofile  # as they are before foreign code


class _Held(NamedTuple):
    """A name, where it is looked up, and what it stood for before foreign code was loaded."""

    label: str
    owner: Any
    name: str
    value: object
    function: Any  # that has the code of the value, if any
    code: object

    @classmethod
    def of(cls, label: str, owner: Any, name: str, value: object) -> "_Held":
        function = _function_of(value)
        return cls(label, owner, name, value, function, getattr(function, "__code__", None))

    @property
    def is_replaced(self) -> bool:
        if _look_up(self.owner, self.name) is not self.value:
            return True
        return getattr(self.function, "__code__", None) is not self.code


class _Module(NamedTuple):
    """A module, its class, and the names in it that hide a builtin, as they were."""

    module: ModuleType
    kind: type
    hidden: frozenset[str]

    @classmethod
    def of(cls, module: ModuleType) -> "_Module":
        return cls(module, type(module), _BUILTINS & vars(module).keys())

    def changes(self, name: str) -> list[str]:
        if sys.modules.get(name) is not self.module or type(self.module) is not self.kind:
            return [f"{name} (another module)"]
        names = vars(self.module)
        if _BUILTINS.isdisjoint(names):
            return []
        # A submodule may have a builtin's name, and appears when it is imported.
        return [
            f"{name}.{new}{_origin(names[new])}"
            for new in sorted(_BUILTINS & names.keys() - self.hidden)
            if names[new] is not sys.modules.get(f"{name}.{new}")
        ]


class _Watch:
    """Whether any of the names held is replaced, in a tenth of the time that it takes to ask each.

    It is asked after each request, over some four thousand names, twenty-five times for one point.
    """

    def __init__(self, held: Sequence[_Held]) -> None:
        own = {id(one): vars(one.owner) for one in held if one.name in vars(one.owner)}
        # The nearest place where a name is looked up: nothing can come before it.
        self._stored = [(own[id(one)], one.name, one.value) for one in held if id(one) in own]
        functions: dict[int, tuple[FunctionType, object]] = {}
        for one in held:
            if id(one) in own and isinstance(one.function, FunctionType):
                # The code as it was first: it may be another one where the function is held again.
                functions.setdefault(id(one.function), (one.function, one.code))
        self._codes = list(functions.values())
        self._others = [
            one
            for one in held
            if id(one) not in own or (one.code is not None and id(one.function) not in functions)
        ]

    @property
    def sees_one(self) -> bool:
        return bool(
            [name for names, name, value in self._stored if names.get(name) is not value]
            or [code for function, code in self._codes if function.__code__ is not code]
            or [held for held in self._others if held.is_replaced]
        )


class Integrity:
    """Remembers the engine and its entry points as they are now.

    ``settings`` reads what else must stay as it is, by name: limits of the driver. None is one that cannot be
    read any more: nobody replaced it, and the broken device's own error says what happened.
    """

    def __init__(self, settings: Mapping[str, Callable[[], object]] | None = None) -> None:
        self._settings = {name: (read, read()) for name, read in (settings or {}).items()}
        self._held: list[_Held] = []
        self._watch = _Watch(())
        self._modules: dict[str, _Module] = {}
        self._told: set[str] = set()
        self._early: tuple[str, ...] = ()  # what was found replaced when more was to be remembered
        self.extend()

    def extend(self) -> None:
        """Also remember what the engine has imported since; call it before foreign code is loaded."""
        known = len(self._held)
        if known:
            self._early += self._found()
        for name in [name for name in sys.modules if name.startswith(_ENGINE)]:
            module = sys.modules[name]
            if name not in self._modules:
                self._modules[name] = _Module.of(module)
                self._held += _of_module(name, module)
        for name, entries in _ENTRY_POINTS.items():
            module = _MODULES.get(name) or sys.modules.get(name)
            if module is not None and name not in self._modules:
                self._modules[name] = _Module.of(module)
                self._held += _of_entries(name, module, entries)
        if len(self._held) > known:
            self._watch = _Watch(self._held)

    def replaced(self) -> tuple[str, ...]:
        """What is no longer what it was, each named once: ``torch.cuda.Event.record (by eager.py:3)``."""
        early, self._early = self._early, ()
        return (*early, *self._found())

    def _found(self) -> tuple[str, ...]:
        found: list[str] = []
        for name, held in self._modules.items():
            found += held.changes(name)
        if self._watch.sees_one:
            found += [
                f"{held.label}{_origin(_look_up(held.owner, held.name))}"
                for held in self._held
                if held.is_replaced
            ]
        found += [name for name, (read, before) in self._settings.items() if read() not in (before, None)]
        if _trace_function() or _profile_function():
            found.append("Python's trace function")
        new = [name for name in found if name not in self._told]
        self._told.update(new)
        return tuple(new)


def _of_module(name: str, module: ModuleType) -> Iterator[_Held]:
    for key, value in list(vars(module).items()):
        if key.startswith("__"):
            continue
        if isinstance(value, (*_PLAIN, ModuleType)) or callable(value):
            yield _Held.of(f"{name}.{key}", module, key, value)
        if isinstance(value, type) and value.__module__ == name:
            yield from _of_class(f"{name}.{key}", value)


def _of_class(label: str, owner: type) -> Iterator[_Held]:
    for key, value in list(vars(owner).items()):
        if isinstance(value, _KINDS) and key not in (
            "__doc__",
            "__module__",
            "__qualname__",
        ):
            yield _Held.of(f"{label}.{key}", owner, key, value)


def _of_entries(name: str, module: ModuleType, entries: tuple[str, ...]) -> Iterator[_Held]:
    for entry in entries:
        owner: Any = module
        *path, last = entry.split(".")
        for part in path:
            owner = getattr(owner, part, None)
        if owner is not None and (value := _look_up(owner, last)) is not None:
            yield _Held.of(f"{name}.{entry}", owner, last, value)


def _look_up(owner: Any, name: str) -> Any:
    """As it is stored: access through a class would bind it each time."""
    if isinstance(owner, type):
        for base in owner.__mro__:
            if name in vars(base):
                return vars(base)[name]
        return None
    return vars(owner).get(name)


def _function_of(value: Any) -> Any:
    """What has the code of a function, method or property; None of what has none."""
    function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    return function if hasattr(function, "__code__") else None


def _origin(value: Any) -> str:
    code: Any = getattr(_function_of(value), "__code__", None)
    return f" (by {Path(code.co_filename).name}:{code.co_firstlineno})" if code else ""
