"""Code that a Python file names only in strings: ``load(sources=["add.cu"])``, ``open("add.cu").read()``."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path, PurePath

_CODE = (
    *(".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".inl", ".mm", ".metal"),
    *(".py", ".ptx", ".cubin", ".fatbin", ".so", ".pyd", ".ll", ".ttir", ".ttgir"),
)
_LONGEST = 1000  # characters of a path
_MOST_FOLDERS = 50
_LOADERS = ("CDLL", "PyDLL", "load_library", "LoadLibrary")  # of one file, their first argument


def named_files(tree: ast.AST, folders: tuple[Path, ...]) -> Iterator[Path]:
    """Where files of code would be that a literal of the file names, whether or not one is there.

    A name alone may lie in a folder that another literal names: ``Path("csrc") / "add.cu"``.
    """
    literals = dict.fromkeys(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_path(node.value)
    )
    names = [text for text in literals if PurePath(text).suffix in _CODE]
    if not names:
        return
    inner = [text for text in literals if not PurePath(text).suffix][:_MOST_FOLDERS]
    below = [folder / text for folder in folders for text in inner]
    for folder in (*folders, *filter(os.path.isdir, below)):
        for name in names:
            yield Path(os.path.normpath(folder / name))


def unnamed_builds(tree: ast.AST) -> list[int]:
    """Lines on which code is built or loaded from files that no literal names."""
    given: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Name):
                        given.setdefault(target.id, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                given.setdefault(name, []).append(value)
            case _:
                pass
    return sorted(
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and any(not _is_named(one, given, set()) for one in _sources(node))
    )


def _sources(call: ast.Call) -> list[ast.expr]:
    """What a call builds or loads, each file as an expression."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in _LOADERS:
        return call.args[:1]
    return [keyword.value for keyword in call.keywords if keyword.arg == "sources"]


def _is_named(value: ast.expr, given: dict[str, list[ast.expr]], seen: set[str]) -> bool:
    """Whether literals name the file, or each file of a list."""
    match value:
        case ast.List(elts=each) | ast.Tuple(elts=each):
            return all(_is_named(one, given, seen) for one in each)
        case ast.Constant(value=str(text)):
            return PurePath(text).suffix in _CODE
        case ast.Name(id=name):
            known = given.get(name, []) if name not in seen else []
            return bool(known) and all(_is_named(one, given, seen | {name}) for one in known)
        case ast.JoinedStr():
            return False
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _is_named(left, given, seen) and _is_named(right, given, seen)
        case ast.BinOp(right=right):  # a folder / "add.cu"
            return _is_named(right, given, seen)
        case ast.Call(args=[*_, last]):  # str(...), os.path.join(folder, "add.cu")
            return _is_named(last, given, seen)
        case ast.Call(func=ast.Attribute(value=inner)):  # Path("add.cu").resolve()
            return _is_named(inner, given, seen)
        case ast.Attribute(value=inner):
            return _is_named(inner, given, seen)
        case _:
            return False


def _is_path(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and text.isprintable()
