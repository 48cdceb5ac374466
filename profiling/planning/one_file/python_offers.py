"""The functions of a Python file that can be measured, by its syntax alone."""

import ast
from collections.abc import Iterable, Iterator

from roofscope.profiling.planning.one_file.offers import Kind, Offer, Parameter
from roofscope.profiling.planning.one_file.slicing import bound_names, used_names

_ASIDE = ("test", "bench", "main", "_", "check", "plot", "profile", "ref", "get_", "is_", "supports_")
_JIT = ("jit", "autotune", "heuristics")
_OF_TESTBED = ("perf_report", "fixture", "parametrize", "cache", "lru_cache")


def python_offers(source: str) -> tuple[Offer, ...]:
    """Raises SyntaxError."""
    tree = ast.parse(source)
    uses = {name: used_names([node]) for node in tree.body for name in bound_names(node)}
    kernels = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _is_kernel(node)}
    found: list[Offer] = []
    for name, node, function in _functions(tree):
        if isinstance(node, ast.FunctionDef) and (_is_kernel(node) or not _parameters(function, node)):
            continue
        reached = _reached(name, uses)
        kind = Kind.TRITON if reached & kernels else Kind.PYTHON
        found.append(
            Offer(
                name,
                kind,
                _parameters(function, node),
                node.lineno,
                is_plain=not name.startswith(_ASIDE) and not _decorated(function, _OF_TESTBED),
                shapes=dict(_shapes(function)),
                body=ast.unparse(function),
            )
        )
    return _without_helpers(found, uses)


def _without_helpers(found: list[Offer], uses: dict[str, set[str]]) -> tuple[Offer, ...]:
    """A function that another calls is its helper; plain PyTorch beside Triton is there to compare with."""
    plain = [offer for offer in found if offer.is_plain]
    helpers = {
        one.name
        for one in plain
        for other in plain
        if one is not other and one.name in _reached(other.name, uses)
    }
    has_triton = any(one.kind is Kind.TRITON and one.name not in helpers for one in plain)

    def is_plain(offer: Offer) -> bool:
        aside = offer.name in helpers or (has_triton and offer.kind is Kind.PYTHON)
        return offer.is_plain and not aside

    return tuple(
        Offer(o.name, o.kind, o.parameters, o.line, is_plain(o), o.shapes, body=o.body) for o in found
    )


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt, ast.FunctionDef]]:
    """Functions by name; of ``name = Class.apply`` the ``forward`` of an autograd function."""
    forwards: dict[str, ast.FunctionDef] = {}
    for node in tree.body:
        match node:
            case ast.FunctionDef():
                yield node.name, node, node
            case ast.ClassDef():
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and inner.name == "forward":
                        forwards[node.name] = inner
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Attribute(value=ast.Name(id=owner), attr="apply"),
            ) if owner in forwards:
                yield name, node, forwards[owner]
            case _:
                pass


def _parameters(function: ast.FunctionDef, node: ast.stmt) -> tuple[Parameter, ...]:
    arguments = [*function.args.posonlyargs, *function.args.args]
    defaults = [None] * (len(arguments) - len(function.args.defaults)) + [*function.args.defaults]
    found = [
        Parameter(
            one.arg,
            ast.unparse(one.annotation) if one.annotation else "",
            ast.unparse(default) if default else "",
        )
        for one, default in zip(arguments, defaults, strict=True)
    ]
    return tuple(found if isinstance(node, ast.FunctionDef) else found[1:])  # without autograd's context


def _is_kernel(function: ast.FunctionDef) -> bool:
    return _decorated(function, _JIT)


def _decorated(function: ast.FunctionDef, names: Iterable[str]) -> bool:
    return any(_last(decorator) in names for decorator in function.decorator_list)


def _last(node: ast.expr) -> str:
    """Of ``triton.jit`` or ``triton.autotune(...)`` the last name."""
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _reached(name: str, uses: dict[str, set[str]]) -> set[str]:
    """The file's own names that a name's definition needs, directly or through others."""
    reached, waiting = set[str](), [name]
    while waiting:
        for used in uses.get(waiting.pop(), ()):
            if used in uses and used not in reached:
                reached.add(used)
                waiting.append(used)
    return reached - {name}


def _shapes(function: ast.FunctionDef) -> Iterator[tuple[str, tuple[str, ...]]]:
    """``M, K = a.shape``; after ``rows = x.reshape(-1, x.shape[-1])`` also of x, for which it stands."""
    stands_for: dict[str, str] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=new)], value=ast.Call(func=ast.Attribute(value=ast.Name(id=old)))
            ):
                stands_for[new] = old
            case ast.Assign(
                targets=[ast.Tuple(elts=names)],
                value=ast.Attribute(value=ast.Name(id=tensor), attr="shape")
                | ast.Call(func=ast.Attribute(value=ast.Name(id=tensor), attr="size"), args=[]),
            ):
                axes = tuple(one.id for one in names if isinstance(one, ast.Name))
                if len(axes) == len(names):
                    yield stands_for.get(tensor, tensor), axes
            case _:
                pass
