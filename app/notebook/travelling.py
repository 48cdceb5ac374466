"""How a function gets into another process: as source, with what it refers to.

A function of a module that can be imported there is imported. One of a script, a notebook's cell or a test is
written down with the functions, classes, modules and constants that its source names, and theirs in turn.
"""

import __future__

import ast
import importlib.util
import inspect
import pickle
import symtable
import sys
import sysconfig
import textwrap
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

SUBJECT = "_measured"  # by which the written module knows the function
_VALUES = "values.pickle"


class SourceError(Exception):
    """A function cannot travel; the text is one sentence with what to do."""


class Luggage:
    """Definitions for a module, and values that have no text."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._known: dict[str, object] = {}
        self._values: dict[str, object] = {}
        self._postpones_annotations = False
        self.uses_triton = False

    def pack(self, name: str, value: Any) -> None:
        """Let ``name`` mean ``value`` in the module. Raises SourceError."""
        if name in self._known:
            if self._known[name] is not value and not _are_equal(self._known[name], value):
                raise SourceError(
                    f"Two different things named {name!r} are used; rename one of them, because both travel "
                    "in one file."
                )
            return
        self._known[name] = value
        if isinstance(value, types.ModuleType):
            is_same = value.__name__ == name
            self._parts.append(f"import {name}" if is_same else f"import {value.__name__} as {name}")
        elif (written := _literal(value)) is not None:
            self._parts.append(f"{name} = {written}")
        elif (function := _within(value)[0]) is not None:
            self._pack_function(name, value, function)
        elif isinstance(value, type):
            self._pack_class(name, value)
        else:
            self._values[name] = value

    def text(self, purpose: str, folder: Path, stem: str) -> str:
        """The module so far; values that have no text are written beside it."""
        lines = [f'"""{purpose}"""', ""]
        if self._postpones_annotations:
            lines += ["from __future__ import annotations", ""]
        if folders := _import_folders():
            lines += [
                "import sys",
                "",
                f"sys.path += [one for one in {folders!r} if one not in sys.path]",
                "",
            ]
        if self._values:
            (folder / f"{stem}_{_VALUES}").write_bytes(_pickled(self._values))
            lines += [
                "import pickle",
                "from pathlib import Path",
                "",
                f'with Path(__file__).with_name("{stem}_{_VALUES}").open("rb") as _file:',
                "    globals().update(pickle.load(_file))",
                "",
            ]
        return "\n".join([*lines, *self._parts, ""])

    def _pack_function(self, name: str, value: Any, function: types.FunctionType) -> None:
        self.uses_triton |= _is_of_triton(value)
        if (
            _is_importable(function.__module__)
            and _found_at(function.__module__, function.__qualname__) is value
        ):
            self._parts.append(_import(function.__module__, function.__qualname__, name))
            return
        if function.__name__ == "<lambda>":
            source, defined = _lambda_source(function), ""
        else:
            source, defined = _source_of(function), function.__name__
        if _within(value)[1] > _decorators(source):
            raise SourceError(
                f"{function.__name__} is wrapped by something that its source does not show, such as a "
                "call of torch.compile; write that as a decorator, or in a function of your own."
            )
        self._postpones_annotations |= bool(function.__code__.co_flags & __future__.annotations.compiler_flag)
        self._pack_names(source, _namespace(function), defined)
        self._define(name, source, defined)

    def _pack_class(self, name: str, value: type) -> None:
        if _is_importable(value.__module__) and _found_at(value.__module__, value.__qualname__) is value:
            self._parts.append(_import(value.__module__, value.__qualname__, name))
            return
        source = _source_of(value)
        module = sys.modules.get(value.__module__)
        self._pack_names(source, vars(module) if module else {}, value.__name__)
        self._define(name, source, value.__name__)

    def _pack_names(self, source: str, namespace: Mapping[str, Any], own: str) -> None:
        for used in sorted(_names_in(source)):
            if used != own and used in namespace:
                self.pack(used, namespace[used])

    def _define(self, name: str, source: str, defined: str) -> None:
        if not defined:  # an expression
            self._parts.append(f"{name} = {source}")
            return
        self._parts.append(f"\n{source.rstrip()}\n")
        if defined != name:
            self._parts.append(f"{name} = {defined}")


def _within(value: Any) -> tuple[types.FunctionType | None, int]:
    """The Python function within decorators, of which Triton's keep it as ``fn``, and how deep it is."""
    for depth in range(20):
        if isinstance(value, types.FunctionType):
            inner = getattr(value, "__wrapped__", None) or getattr(value, "_torchdynamo_orig_callable", None)
            if not callable(inner):
                return value, depth
        else:
            inner = getattr(value, "fn", None) if _is_of_triton(value) else None
        value = inner
    return None, 0


def _is_of_triton(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "triton"


def _literal(value: Any) -> str | None:
    """As Python text; None where it has none that means the same."""
    kind = type(value)
    if kind.__module__ == "torch" and kind.__name__ in ("dtype", "device", "memory_format", "layout"):
        text = f"torch.device({str(value)!r})" if kind.__name__ == "device" else str(value)
        return f"__import__('torch').{text.removeprefix('torch.')}"
    if kind.__module__.startswith("triton") and kind.__name__ == "constexpr":
        inner = _literal(value.value)
        return inner and f"__import__('triton.language').language.constexpr({inner})"
    try:
        text = repr(value)
        return text if _are_equal(ast.literal_eval(text), value) else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _are_equal(one: object, other: object) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)


def _source_of(value: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError) as error:
        raise SourceError(
            f"The source of {value.__name__} cannot be had; define it in a file or in a notebook's cell, "
            "because it is read there to run in a process of its own."
        ) from error


def _lambda_source(function: types.FunctionType) -> str:
    """The one lambda of its statement that compiles to the same code."""
    code = function.__code__
    try:
        lines = inspect.findsource(function)[0]
    except OSError:
        raise _no_lambda() from None
    tree = _tree("".join(lines))
    found = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno
    ]
    same = {text for text in found if _code_of(text) == (code.co_code, code.co_names, code.co_varnames)}
    if len(same) != 1 and len(set(found)) != 1:
        raise _no_lambda()
    return (same or set(found)).pop()


def _tree(source: str) -> ast.AST:
    try:
        return ast.parse(source)
    except SyntaxError:
        raise _no_lambda() from None


def _code_of(text: str) -> tuple[bytes, tuple[str, ...], tuple[str, ...]]:
    code: types.CodeType = eval(text, {}).__code__  # noqa: S307 - makes the user's function, which is not called
    return code.co_code, code.co_names, code.co_varnames


def _no_lambda() -> SourceError:
    return SourceError(
        "The source of a lambda cannot be told from others there; write it as a function with def."
    )


def _decorators(source: str) -> int:
    """How many a definition has; an expression has none."""
    first = ast.parse(source).body[0]
    return len(first.decorator_list) if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef) else 0


def _namespace(function: types.FunctionType) -> dict[str, Any]:
    """What its free names mean: the module's, and over them those of functions around it."""
    found = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _names_in(source: str) -> set[str]:
    """Names that a definition takes from around it."""
    found: set[str] = set()
    tables = [symtable.symtable(source, "source", "exec")]
    top = tables[0]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        found |= {
            one.get_name()
            for one in table.get_symbols()
            if one.is_referenced() and (one.is_global() or table is top)
        }
    return found


def _is_importable(module: str | None) -> bool:
    """Whether another process finds the very file of the module that is loaded here."""
    loaded = sys.modules.get(module or "")
    if loaded is None or module in ("__main__", "builtins"):
        return False
    file = getattr(loaded, "__file__", None)
    try:
        found = importlib.util.find_spec(module or "")
    except (ImportError, ValueError, AttributeError):
        return False
    if found is None or found.origin in (None, "built-in", "frozen"):
        return found is not None
    return (
        file is not None and Path(file).resolve() == Path(found.origin or "").resolve() and _is_on_path(found)
    )


def _is_on_path(found: Any) -> bool:
    """By a folder of the path: what a test's runner has put among the modules alone is not."""
    parts = found.name.count(".") + (2 if found.submodule_search_locations else 1)
    root = Path(found.origin).resolve()
    for _ in range(parts):
        root = root.parent
    return any(Path(entry or ".").resolve() == root for entry in sys.path)


def _found_at(module: str, name: str) -> object:
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _import(module: str, qualified: str, name: str) -> str:
    first, _, rest = qualified.partition(".")
    if not rest:
        return f"from {module} import {first} as {name}"
    return f"from {module} import {first} as _{first}\n{name} = _{first}.{rest}"


def _import_folders() -> list[str]:
    """The path of this program, for a function's modules; not what every Python has."""
    package = Path(__file__).resolve().parents[2]
    everywhere = {Path(one).resolve() for one in sysconfig.get_paths().values()}
    everywhere |= {one / "lib-dynload" for one in everywhere} | {package}
    folders = (Path(entry or ".").resolve() for entry in sys.path)
    return [str(one) for one in dict.fromkeys(folders) if one.is_dir() and one not in everywhere]


def _pickled(values: Mapping[str, object]) -> bytes:
    for name, value in values.items():
        try:
            data = pickle.dumps(value)
        except Exception as error:
            raise SourceError(
                f"{name!r}, which the function uses, cannot be sent to another process ({error}); make it "
                "inside the function, or pass it as an argument."
            ) from error
        if b"c__main__\n" in data or b"\x8c\x08__main__" in data:
            raise SourceError(
                f"{name!r}, which the function uses, is made of a class of this script or notebook; put the "
                "class into a file that can be imported."
            )
    return pickle.dumps(dict(values))


def call_name(function: Callable[..., Any]) -> str:
    """For people and for a folder: letters, digits and underscores."""
    name = str(getattr(function, "__name__", "") or type(function).__name__)
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter == "_") else "_" for letter in name
    )
    return plain.strip("_").lower() or "function"
