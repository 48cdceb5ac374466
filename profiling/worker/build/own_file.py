"""Makes ``run`` of a user's file that knows nothing of this program: by the call that its form states."""

import ast
import copy
import math
import operator
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import torch

from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.loading import load_names
from roofscope.profiling.planning.one_file.call_text import NEW, call_text, is_direct, names_in
from roofscope.profiling.planning.one_file.parts import Entry, called
from roofscope.profiling.planning.parameters import Parameter
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.build.contract import BuildRequest, Call, Tensors
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
    function = called(entry.call)
    loaded = load_names(path, (names_in(entry.call) - given) | {entry.offer.head}, parameters)
    # A copy, in which ``run`` is ours: a function of the file may be called run, too.
    module = ModuleType(loaded.__name__)
    vars(module).update(vars(loaded))
    if entry.offer.is_class:
        vars(module)[function] = made_once(loaded, function, path, entry.made_by)
    if is_direct(entry, function):
        vars(module)["run"] = named(module, function, path)
    else:
        vars(module)["run"] = call_in(entry, vars(module), dtype)
    return module


def function_of(path: Path, name: str, *, is_class: bool, made_by: str) -> Call:
    """A function of a user's file by its name. Raises BuildError."""
    loaded = load_names(path, [name.partition(".")[0]])
    return made_once(loaded, name, path, made_by) if is_class else named(loaded, name, path)


def named(module: ModuleType, name: str, path: Path) -> Call:
    """``f``, or ``Scale.apply`` of a class. Raises BuildError."""
    try:
        return operator.attrgetter(name)(module)
    except AttributeError:
        raise BuildError(f"{path.name} defines no {name} when it is run.", "") from None


def made_once(module: ModuleType, name: str, path: Path, made_by: str) -> Call:
    """A call of a module of PyTorch, which is made now, of what ``get_init_inputs`` returns.

    Always from the same seed: a version of the module and what judges it get the same weights. They follow
    the inputs to their device and type. Raises BuildError.
    """
    cls: Callable[..., torch.nn.Module] = getattr(module, name)
    try:
        other = Path(made_by) if made_by else path
        given = getattr(load_names(other, ["get_init_inputs"]), "get_init_inputs", list[Any])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = cls(*given())
    except Exception as error:
        text = printable(f"{type(error).__name__}: {error}")
        raise BuildError(f"{path.name}: {name} cannot be made: {text}.", traceback.format_exc()) from error
    model.requires_grad_(requires_grad=False)
    made: dict[tuple[torch.device, torch.dtype], torch.nn.Module] = {}

    def run(*inputs: torch.Tensor) -> Tensors:
        floating = next((one.dtype for one in inputs if one.is_floating_point()), torch.float32)
        key = (inputs[0].device, floating)
        if key not in made:
            made[key] = copy.deepcopy(model).to(*key)
        return made[key](*inputs)

    return run


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
