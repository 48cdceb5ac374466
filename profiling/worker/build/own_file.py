"""Makes ``run`` of a user's file that knows nothing of this program: by the call that its form states."""

import ast
import math
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import torch

from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.loading import load_names
from roofscope.profiling.planning.one_file.call_text import NEW, call_text, is_direct, names_in
from roofscope.profiling.planning.one_file.parts import Entry, called
from roofscope.profiling.planning.parameters import Parameter
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.build.contract import BuildRequest, Call
from roofscope.profiling.worker.failures import BuildError


def module_of(request: BuildRequest, name: str) -> ModuleType:
    """The module whose ``run`` is an implementation: its folder's file of this name, or the user's own."""
    if request.entry is None:
        return load_module(request.folder / name, request.implementation.parameters)
    return entry_module(request.entry, request.workload.dtype, request.implementation.parameters)


def entry_module(
    entry: Entry, dtype: Dtype = Dtype.FLOAT32, parameters: Iterable[Parameter] = ()
) -> ModuleType:
    """What the user's file defines as far as the call needs it, and the call as ``run``."""
    if entry.offer is None:
        module = ModuleType(Path(entry.form).stem)
        module.__file__ = entry.form
        known: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "math": math}
        vars(module)["run"] = call_in(entry, known, dtype)
        return module
    path = Path(entry.file)
    given = {tensor.name for tensor in (*entry.inputs, *entry.outputs)}
    given |= {name for tensor in entry.inputs for dimension in tensor.shape for name in names_in(dimension)}
    loaded = load_names(path, (names_in(entry.call) - given) | {called(entry.call)}, parameters)
    function = called(entry.call)
    # A copy, in which ``run`` is ours: a function of the file may be called run, too.
    module = ModuleType(loaded.__name__)
    vars(module).update(vars(loaded))
    if is_direct(entry, function):
        if function not in vars(loaded):
            raise BuildError(f"{path.name} defines no {function} when it is run.", "")
        vars(module)["run"] = vars(loaded)[function]
    else:
        vars(module)["run"] = call_in(entry, vars(loaded), dtype)
    return module


def call_in(
    entry: Entry, names: dict[str, Any], dtype: Dtype, statement: str = "", first: tuple[str, ...] = ()
) -> Call:
    """A function of the inputs that carries out the entry's call, or a statement in its place."""

    def new(shape: tuple[int, ...], element: str, device: torch.device) -> torch.Tensor:
        return torch.empty(shape, dtype=getattr(torch, element or str(dtype)), device=device)

    module: dict[str, Any] = {**names, NEW: new}
    text = call_text(entry, statement, first)
    exec(_at_line(text, entry), module)  # noqa: S102 - a kernel is a program
    return module["run"]


def _at_line(source: str, entry: Entry) -> CodeType:
    """Compiled so that what fails in the call names its line in the form."""
    try:
        tree = ast.parse(source, entry.form)
    except SyntaxError as error:
        where = f"{Path(entry.form).name}:{entry.line}"
        raise BuildError(f"{where}: Python cannot read the call {entry.call!r}: {error.msg}.", "") from error
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = entry.line  # pyright: ignore[reportAttributeAccessIssue]
            node.col_offset = node.end_col_offset = 0  # pyright: ignore[reportAttributeAccessIssue]
    return compile(tree, entry.form, "exec", dont_inherit=True)
