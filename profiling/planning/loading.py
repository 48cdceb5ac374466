"""Executes a kernel's Python file, and says in a clause what went wrong."""

import ast
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from roofscope.profiling.planning.kernel_files import printable, read_file
from roofscope.profiling.planning.one_file.slicing import needed_statements
from roofscope.profiling.planning.parameters import Parameter, put_values

_FORMER_PACKAGES = ("profiling", "kernels")  # as files from before the package roofscope import them
_LONGEST = 300  # characters of a message that a foreign file words


def load_names(path: Path, names: Iterable[str], parameters: Iterable[Parameter] = ()) -> ModuleType:
    """A user's file as it stands, of which only that is run which these names need. Raises FileFault.

    It may import what lies beside it, as when Python is given the file.
    """
    name, home = path.stem, path.parent
    while (home / "__init__.py").exists():
        name, home = f"{home.name}.{name}", home.parent
    if str(home) not in sys.path:
        sys.path.append(str(home))  # last, so that nothing there stands for a package that is installed
    module = ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = name.rpartition(".")[0]
    tree = ast.parse(read_file(path), str(path))
    put_values(tree, parameters)
    tree.body = needed_statements(tree, names)
    exec(compile(tree, str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - a kernel is a program
    return module


def load_module(path: Path, parameters: Iterable[Parameter] = ()) -> ModuleType:
    """Execute a kernel's Python file under the name ``<root>.<kernel>.<stem>``, with these values.

    By location and not by import, so that a kernel folder may lie anywhere. Its text is compiled each time:
    ``__pycache__`` may hold another program, which Python may take unchecked. Raises FileFault.
    """
    name = ".".join((path.parent.parent.name, path.parent.name, path.stem))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    tree = ast.parse(read_file(path), str(path))
    put_values(tree, parameters)
    exec(compile(tree, str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - a kernel is a program
    return module


def describe_load_error(error: BaseException) -> str:
    """What a user's file raised when it was loaded, in a clause of one line."""
    if isinstance(error, SyntaxError):
        return printable(f"line {error.lineno}: {error.msg}")
    text = _text(error)
    if isinstance(error, SystemExit):
        return "it ends the program that reads it, as exit() does"
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _FORMER_PACKAGES:
        return f"{text.partition(': ')[2]}; what a kernel's file needs is imported from roofscope"
    return text


def _text(error: BaseException) -> str:
    """Of an error whose class a foreign file may have written, so that even its text may raise."""
    name = type(error).__name__
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - whatever it is, the error itself has a name
        said = "it cannot say what is wrong"
    return printable(f"{name}: {said}")[:_LONGEST]
