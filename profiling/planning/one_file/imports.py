"""The files beside a user's file that run with it: what it imports, includes or names, also through others.

By the syntax alone. Too many rather than too few: whatever runs must be trusted, hashed and watched.
"""

import ast
import functools
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import NamedTuple

from roofscope.profiling.planning.kernel_files import FileFault, printable, read_file
from roofscope.profiling.planning.one_file.form import FormFault
from roofscope.profiling.planning.one_file.named_files import named_files

MOST_BESIDE = 500  # files
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([\w./-]+)"', re.MULTILINE)
_IMPORTERS = ("import_module", "__import__")
_LOADED_BEFORE = ("torch",)  # by the worker itself, so that no folder beside stands for it


class Beside(NamedTuple):
    contents: dict[str, bytes]  # by their names as seen from the folder
    folders: frozenset[Path]  # that were looked into: another file in one of them may be another answer


def beside(folder: Path, contents: Iterable[bytes]) -> dict[str, bytes]:
    """By their names as seen from the folder, in which these contents lie.

    Raises FormFault where there are too many, or one cannot be read.
    """
    return look_beside(folder, contents).contents


def look_beside(folder: Path, contents: Iterable[bytes]) -> Beside:
    """Raises FormFault."""
    waiting = [(folder, content) for content in contents]
    roots = tuple(dict.fromkeys((_home(folder), folder)))
    found: dict[str, bytes] = {}
    folders = set(roots)
    seen = set[Path]()  # modules ask for the same files again and again
    while waiting:
        at, content = waiting.pop()
        for path in _candidates(at, roots, content):
            if path in seen:
                continue
            seen.add(path)
            folders.add(path.parent)
            if not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises
                continue  # it is installed, or missing: the build says so
            name = os.path.relpath(path, folder)
            if len(found) >= MOST_BESIDE:
                raise FormFault(f"more than {MOST_BESIDE} files beside it would run with it")
            found[name] = _content(path, name)
            waiting.append((path.parent, found[name]))
    return Beside(found, frozenset(folders))


def _candidates(at: Path, roots: tuple[Path, ...], content: bytes) -> Iterator[Path]:
    """The files for which a content in a folder may ask; most of them are not there."""
    for header in _INCLUDE.findall(content.decode("utf-8", "replace")):
        yield from dict.fromkeys(Path(os.path.normpath(one / header)) for one in (at, *roots))
    tree, importing = _parsed(content)
    if tree:
        yield from named_files(tree, tuple(dict.fromkeys((at, *roots))))
    for node in importing:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from _absolute(roots, alias.name, ())
            case ast.ImportFrom(level=0, module=str(module), names=names):
                yield from _absolute(roots, module, [alias.name for alias in names])
            case ast.ImportFrom(level=level, module=module, names=names):
                base = Path(os.path.normpath(at.joinpath(*[".."] * (level - 1))))
                yield from _packages(base)
                yield from _module(base, module or "", [alias.name for alias in names])
            case ast.Call(func=function, args=[ast.Constant(value=str(module)), *_]) if (
                _last(function) in _IMPORTERS
            ):
                yield from _absolute(roots, module.lstrip("."), ())
            case _:
                pass


@functools.lru_cache(MOST_BESIDE)  # a package is read again at each edit of the one file that changes
def _parsed(content: bytes) -> tuple[ast.Module | None, tuple[ast.AST, ...]]:
    """The tree and what imports in it; None of C++, and of what Python cannot import either."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None, ()
    return tree, tuple(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Call) and _last(node.func) in _IMPORTERS)
    )


def _absolute(roots: tuple[Path, ...], module: str, names: Iterable[str]) -> Iterator[Path]:
    if module.partition(".")[0] not in _LOADED_BEFORE:
        for root in roots:
            yield from _module(root, module, names)


def _module(base: Path, module: str, names: Iterable[str]) -> Iterator[Path]:
    """``a/__init__.py``, ``a/b.py`` and ``a/b/__init__.py`` of ``a.b``, and each name as a module in it."""
    if not all(part.isidentifier() for part in module.split(".") if part):
        return
    at = base
    for part in filter(None, module.split(".")):
        at = at / part
        yield from _files_of(at)
    for name in names:
        if name != "*":
            yield from _files_of(at / name)
            continue
        inside = [one for one in _listed(at) if one.isidentifier()]  # __all__ may name any of them
        for one in inside:
            yield from _files_of(at / one)


def _files_of(module: Path) -> Iterator[Path]:
    for suffix in all_suffixes():  # a compiled module stands before its source
        yield module.with_name(module.name + suffix)
        yield module / f"__init__{suffix}"


def _packages(folder: Path) -> Iterator[Path]:
    """What runs before any module of a package."""
    yield folder / "__init__.py"
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
        yield folder / "__init__.py"


def _home(folder: Path) -> Path:
    """The folder that Python imports from: above the packages."""
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def _listed(folder: Path) -> list[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names, of which there may be very many
    except OSError:
        return []
    return sorted({name.partition(".")[0] for name in names})


def _content(path: Path, name: str) -> bytes:
    """Of a compiled module a digest in its stead: it has no text, and may be large. Raises FormFault."""
    try:
        if path.suffix in (".so", ".pyc", ".pyd", ".cubin", ".fatbin"):
            with path.open("rb") as file:
                return f"# compiled, SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()}".encode()
        return read_file(path)
    except FileFault as error:
        raise FormFault(f"{printable(name)}, which would run with it, cannot be read: {error}") from error
    except OSError as error:
        raise FormFault(
            f"{printable(name)}, which would run with it, cannot be read: {error.strerror}"
        ) from error


def _last(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
