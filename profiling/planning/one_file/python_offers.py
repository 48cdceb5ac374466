"""The functions of a Python file that can be measured, by its syntax alone."""

import ast
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.planning.one_file.inline_cpp import inline_functions
from roofscope.profiling.planning.one_file.offers import Kind, Offer, Parameter
from roofscope.profiling.planning.one_file.slicing import bound_names, used_names

_ASIDE = ("test", "bench", "main", "_", "check", "plot", "profile", "ref", "get_", "is_", "supports_")
_BACKWARD = re.compile("backward|bwd|grad", re.IGNORECASE)
_JIT = ("jit", "autotune", "heuristics")
_DEVICE = (*_JIT, "kernel", "prim_func")  # of other languages, too
_OTHER_JIT = ("cuda.", "numba.", "cute.", "cutlass.", "torch.", "jax.")
_OF_TESTBED = ("perf_report", "fixture", "parametrize", "cache", "lru_cache")
NEW_MODEL, MODEL = "ModelNew", "Model"  # as KernelBench names what is measured, and what is right


class _Function(Struct, frozen=True):
    """Something that can be called, by what defines its parameters."""

    name: str
    line: int
    parameters: tuple[Parameter, ...]
    node: ast.FunctionDef | None = None  # None: it is in C++
    is_class: bool = False
    body: str = ""


def python_offers(source: str) -> tuple[Offer, ...]:
    """Raises SyntaxError."""
    tree = ast.parse(source)
    uses = {name: used_names([node]) for node in tree.body for name in bound_names(node)}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    made_by = {
        Kind.TRITON: {node.name for node in functions if _is_kernel(node)},
        Kind.CUTE: {node.name for node in functions if _is_cute(node)},
        Kind.INLINE: {name for node in tree.body if _compiles_cuda(node) for name in bound_names(node)},
    }
    found: list[Offer] = []
    for one in _functions(tree):
        if not one.parameters:
            continue
        reached = {one.name.partition(".")[0]} | _reached(one.name, uses)
        kind = next((kind for kind, names in made_by.items() if reached & names), Kind.PYTHON)
        found.append(
            Offer(
                one.name,
                kind,
                one.parameters,
                one.line,
                is_plain=_is_plain(one),
                shapes=dict(_shapes(one.node)) if one.node else {},
                returns=one.node is None or one.is_class or _returns(one.node),
                body=one.body,
                is_class=one.is_class,
            )
        )
    return _without_helpers(found, uses)


def _without_helpers(found: list[Offer], uses: dict[str, set[str]]) -> tuple[Offer, ...]:
    """A function that another calls is its helper; plain PyTorch beside Triton is there to compare with.

    So is what a module computes beside its ``ModelNew``, and a backward pass is measured where it is named.
    """
    names = {offer.name for offer in found}
    aside = {MODEL} if NEW_MODEL in names else set[str]()
    plain = [offer for offer in found if offer.is_plain and offer.name not in aside]
    aside |= {
        one.name
        for one in plain
        for other in plain
        if one is not other and one.head in _reached(other.name, uses)
    }
    plain = [offer for offer in plain if offer.name not in aside]
    if any(one.kind is not Kind.PYTHON for one in plain):
        aside |= {one.name for one in plain if one.kind is Kind.PYTHON}
    backward = {one.name for one in plain if _BACKWARD.search(one.name)}
    if any(one.name not in aside | backward for one in plain):
        aside |= backward
    return tuple(replace(one, is_plain=one.is_plain and one.name not in aside) for one in found)


def _is_plain(one: _Function) -> bool:
    if one.is_class:  # others are parts of a network, made of what only its program knows
        return one.name in (NEW_MODEL, MODEL)
    return not one.name.startswith(_ASIDE) and not (one.node and _decorated(one.node, _OF_TESTBED))


def _functions(tree: ast.Module) -> Iterator[_Function]:
    """Functions; of an autograd function its ``apply``, under the name that the file gives it; modules."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    forwards = {node.name: one for node in classes for one in _forward(node)}
    applied = set[str]()
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Attribute(value=ast.Name(id=owner), attr="apply"),
            ) if owner in forwards:
                applied.add(owner)
                yield _of_class(name, node, forwards[owner])
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if (
                _last(call) == "load_inline"
            ):
                for function, parameters in inline_functions(tree, call):
                    yield _Function(f"{name}.{function}", node.lineno, parameters, body=ast.unparse(call))
            case ast.FunctionDef() if not _decorated(node, _DEVICE):
                yield _Function(node.name, node.lineno, _parameters(node), node, body=ast.unparse(node))
            case _:
                pass
    for node in classes:
        if node.name not in forwards:
            continue
        bases = {_last(base) for base in node.bases}
        if "Function" in bases and node.name not in applied:
            yield _of_class(f"{node.name}.apply", node, forwards[node.name])
        elif "Module" in bases:
            yield _of_class(node.name, node, forwards[node.name], is_class=True)


def _compiles_cuda(node: ast.stmt) -> bool:
    """Whether a statement has PyTorch compile CUDA C++, in its sources or in files."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and _last(call) in ("load_inline", "load"):
            words = {one.arg: one.value for one in call.keywords}
            if "cuda_sources" in words or ".cu" in ast.unparse(words.get("sources", call.func)):
                return True
    return False


def _forward(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "forward")


def _of_class(name: str, node: ast.stmt, forward: ast.FunctionDef, *, is_class: bool = False) -> _Function:
    """Without ``self``, or autograd's context."""
    return _Function(
        name, node.lineno, _parameters(forward)[1:], forward, is_class=is_class, body=ast.unparse(forward)
    )


def _parameters(function: ast.FunctionDef) -> tuple[Parameter, ...]:
    arguments = [*function.args.posonlyargs, *function.args.args]
    defaults = [None] * (len(arguments) - len(function.args.defaults)) + [*function.args.defaults]
    return tuple(
        Parameter(
            one.arg,
            ast.unparse(one.annotation) if one.annotation else "",
            ast.unparse(default) if default else "",
        )
        for one, default in zip(arguments, defaults, strict=True)
    )


def _returns(function: ast.FunctionDef) -> bool:
    """Whether it returns a value: its own, not one of a function within it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value and ast.unparse(node.value) != "None":
            return True
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return False


def _is_kernel(function: ast.FunctionDef) -> bool:
    """Of Triton: ``jit`` of Numba or the CuTe DSL stands behind ``cuda.`` or ``cute.``."""
    return any(
        _last(one) in _JIT and not ast.unparse(one).startswith(_OTHER_JIT) for one in function.decorator_list
    )


def _is_cute(function: ast.FunctionDef) -> bool:
    decorators = (ast.unparse(one) for one in function.decorator_list)
    return any(one.startswith(("cute.jit", "cute.kernel")) for one in decorators)


def _decorated(function: ast.FunctionDef, names: Iterable[str]) -> bool:
    return any(_last(decorator) in names for decorator in function.decorator_list)


def _last(node: ast.expr) -> str:
    """Of ``triton.jit`` or ``triton.autotune(...)`` the last name."""
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _reached(name: str, uses: dict[str, set[str]]) -> set[str]:
    """The file's own names that a name's definition needs, directly or through others."""
    head = name.partition(".")[0]
    reached, waiting = set[str](), [head]
    while waiting:
        for used in uses.get(waiting.pop(), ()):
            if used in uses and used not in reached:
                reached.add(used)
                waiting.append(used)
    return reached - {head}


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
