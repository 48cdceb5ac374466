"""C++ within a Python file, as ``load_inline`` of PyTorch takes it: its functions and their parameters."""

import ast
from collections.abc import Iterator

from roofscope.profiling.planning.one_file.cpp_offers import declared_functions
from roofscope.profiling.planning.one_file.offers import Parameter


def inline_functions(tree: ast.Module, call: ast.Call) -> Iterator[tuple[str, tuple[Parameter, ...]]]:
    """Those that a call of ``load_inline`` names, as its sources declare them."""
    words = {one.arg: one.value for one in call.keywords if one.arg}
    sources = [text for key in ("cpp_sources", "cuda_sources") for text in _texts(tree, words.get(key))]
    known = {offer.name: offer.parameters for text in sources for offer in declared_functions(text)}
    for name in _texts(tree, words.get("functions")):
        if name in known:
            yield name, known[name]


def _texts(tree: ast.Module, node: ast.expr | None) -> list[str]:
    """The strings of an expression: a literal, a list, the keys of a dictionary, a name of the file."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [text for part in parts for text in _texts(tree, part)]
        case ast.Dict(keys=keys):
            return [text for key in keys for text in _texts(tree, key)]
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return ["".join([*_texts(tree, left), *_texts(tree, right)])]
        case ast.Name(id=name):
            for statement in tree.body:
                match statement:
                    case ast.Assign(targets=[ast.Name(id=found)], value=value) if (
                        found == name and not _names(value, name)
                    ):
                        return _texts(tree, value)
                    case _:
                        pass
            return []
        case _:
            return []


def _names(node: ast.expr, name: str) -> bool:
    """Whether an expression names itself, and so has no end."""
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))
