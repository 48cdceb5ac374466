"""The inputs that a file makes itself, in ``get_inputs`` as KernelBench has it: read, and never run."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from roofscope.profiling.planning.one_file.offers import Offer

# By function of torch: whether its shape is its arguments, or stands at a place.
_OF_SIZES = ("rand", "randn", "zeros", "ones", "empty")
_INTEGER = {"long": "int64", "int": "int32"}
_FLOATING = {"half": "float16", "bfloat16": "bfloat16", "float": "float32"}
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
_LARGEST = 2**40
_DEFAULT_BELOW = 2


class _Tensor(Struct, frozen=True):
    shape: tuple[int, ...]
    element: str = ""
    below: int = 0


class _Unread(Exception):
    """An expression that is not read."""


def given_inputs(source: str, offer: Offer) -> tuple[str, ...]:
    """Words such as ``x=16x1024`` for the function's first parameters; none where the file has none.

    None either where one of them is no tensor, or is made in a way that is not read.
    """
    try:
        tree = ast.parse(source)
        tensors = _tensors(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError, _Unread):
        return ()
    if not tensors or len(tensors) > len(offer.parameters):
        return ()
    return tuple(_word(one.name, tensor) for one, tensor in zip(offer.parameters, tensors, strict=False))


def defines(source: str, name: str) -> bool:
    """Whether a file has a function of this name."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)


def _tensors(tree: ast.Module) -> list[_Tensor]:
    names = dict[str, object]()
    for statement in tree.body:
        for name, value in _assigned(statement):
            _note(names, name, value)
    function = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "get_inputs"), None)
    if function is None:
        return []
    for statement in function.body:
        for name, value in _assigned(statement):
            _note(names, name, value)
        match statement:
            case ast.Return(value=ast.List(elts=parts) | ast.Tuple(elts=parts)):
                return [_tensor(part, names) for part in parts]
            case ast.Return(value=ast.expr() as part):
                return [_tensor(part, names)]
            case _:
                pass
    return []


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(
            values
        ):
            yield from ((n.id, v) for n, v in zip(names, values, strict=True) if isinstance(n, ast.Name))
        case _:
            pass


def _note(names: dict[str, object], name: str, value: ast.expr) -> None:
    try:
        names[name] = _value(value, names)
    except (_Unread, TypeError, ArithmeticError):
        names[name] = value  # a tensor, which is read where it is returned


def _value(node: ast.expr, names: Mapping[str, object]) -> object:
    """A number or a tuple of numbers. Raises _Unread."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name) if name in names and not isinstance(names[name], ast.expr):
            return names[name]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_sizes(parts, names))
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS:
            found = _OPERATORS[type(op)](_number(left, names), _number(right, names))
            if abs(found) < _LARGEST:
                return found
            raise _Unread
        case ast.Subscript(value=whole, slice=ast.Constant(value=int() as place)):
            return _of_tuple(whole, names)[place]
        case ast.Subscript(value=whole, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            ends = [cast(Any, _value(one, names)) if one else None for one in (lower, upper)]
            return _of_tuple(whole, names)[slice(*ends)]
        case _:
            raise _Unread


def _number(node: ast.expr, names: Mapping[str, object]) -> float:
    value = _value(node, names)
    if isinstance(value, int | float):
        return value
    raise _Unread


def _of_tuple(node: ast.expr, names: Mapping[str, object]) -> tuple[int, ...]:
    whole = _value(node, names)
    if isinstance(whole, tuple):
        return cast(tuple[int, ...], whole)
    raise _Unread


def _sizes(parts: list[ast.expr], names: Mapping[str, object]) -> Iterator[int]:
    for part in parts:
        if isinstance(part, ast.Starred):
            yield from _of_tuple(part.value, names)
            continue
        match _value(part, names):
            case int() as size:
                yield size
            case _ if len(parts) == 1:
                yield from _of_tuple(part, names)
            case _:
                raise _Unread


def _tensor(node: ast.expr, names: Mapping[str, object]) -> _Tensor:
    """Of ``torch.rand(m, n).cuda()``, ``torch.rand(n) * scale`` or a name of such. Raises _Unread."""
    match node:
        case ast.Name(id=name) if isinstance(value := names.get(name), ast.expr):
            return _tensor(value, {**names, name: None})
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=made)):
            return _made(made, node, names)
        case ast.Call(func=ast.Attribute(value=inner, attr=method), args=arguments):
            found = _tensor(inner, names)
            if method in ("to", "type"):
                kinds = [_element(one) for one in (*arguments, *(k.value for k in node.keywords))]
                return _with(found, next(filter(None, kinds), ""))
            return _with(found, {**_INTEGER, **_FLOATING}.get(method, ""))
        case ast.BinOp(left=left, right=right):
            try:
                return _tensor(left, names)
            except _Unread:
                return _tensor(right, names)
        case _:
            raise _Unread


def _made(function: str, call: ast.Call, names: Mapping[str, object]) -> _Tensor:
    words = {one.arg: one.value for one in call.keywords}
    element = _element(words["dtype"]) if "dtype" in words else ""
    shape = [words["size"]] if "size" in words else None
    below = 0
    if function == "randint":
        bounds = (
            [words["high"]]
            if "high" in words
            else [one for one in call.args if shape or one is not call.args[-1]]
        )
        below = cast(Any, _value(bounds[-1], names)) if bounds else _DEFAULT_BELOW
        shape = shape or call.args[-1:]
        element = element or "int64"
    elif function not in _OF_SIZES:
        raise _Unread
    found = tuple(_sizes(shape or call.args, names))
    if not found or not all(0 < size < _LARGEST for size in found):
        raise _Unread
    return _Tensor(found, element, below if "int" in element else 0)


def _element(node: ast.expr) -> str:
    """``float16`` of ``torch.float16`` and of ``torch.half``."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    return {**_INTEGER, **_FLOATING}.get(name, name if name.startswith(("int", "uint", "float")) else "")


def _with(found: _Tensor, element: str) -> _Tensor:
    return _Tensor(found.shape, element, found.below if "int" in element else 0) if element else found


def _word(name: str, tensor: _Tensor) -> str:
    kind = f":{tensor.element}" if tensor.element and tensor.element != "float32" else ""
    below = f"<{tensor.below}" if tensor.below else ""
    return f"{name}={'x'.join(map(str, tensor.shape))}{kind}{below}"
