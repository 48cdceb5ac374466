"""Declared constants of an implementation, from which a run may choose: ``BLOCK = Choice(64, 128, 256)``.

A Python file declares them at its top, a ``.cu`` without one in a comment, ``// BLOCK = Choice(64, 128)``.
They are read, never run. What is built gets the chosen value where the declaration stood.
"""

import ast
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct

Value = int | float | bool | str
T = TypeVar("T", int, float, bool, str)

MOST_CHOICES = 64  # of one parameter
_CHOICE = "Choice"
_DOOR = "roofscope"
_LONGEST = 1 << 18  # characters of Python to be parsed
_LONGEST_TEXT = 48  # characters of a value
_LARGEST = 2**63 - 1
_TEXT = re.compile(r"[\w.+-]+")
_IN_CPP = re.compile(rf"^//\s*([A-Za-z_]\w*)\s*=\s*({_CHOICE}\([^\n]*)$", re.MULTILINE)


def Choice(*choices: T, default: T | None = None) -> T:
    """A constant of an implementation that a run may choose; by itself the default, which is the first.

    Where Roofscope builds the file, the chosen value stands in its place. Raises ValueError.
    """
    if fault := _fault(choices, default):
        raise ValueError(f"Choice({', '.join(map(repr, choices))}) {fault}.")
    return choices[0] if default is None else default


class ParameterError(ValueError):
    """A file declares a parameter that cannot be used; the text is a clause."""


class Parameter(Struct, frozen=True):
    """A declared constant and the value that an implementation is built with."""

    name: str
    choices: tuple[Value, ...]
    default: Value
    value: Value

    @property
    def is_default(self) -> bool:
        return self.value == self.default

    @property
    def text(self) -> str:
        """Such as ``BLOCK=128``."""
        return f"{self.name}={value_text(self.value)}"

    @property
    def choices_text(self) -> str:
        """Such as ``BLOCK=64, 128 or 256``."""
        *some, last = map(value_text, self.choices)
        return f"{self.name}={', '.join(some)} or {last}" if some else f"{self.name}={last}"

    def choice(self, word: str) -> Value | None:
        """The choice that a word names, as the user writes it; None where it is none."""
        return next((value for value in self.choices if word in _spellings(value)), None)

    def chosen(self, value: Value) -> "Parameter":
        return Parameter(self.name, self.choices, self.default, value)


def value_text(value: Value) -> str:
    """As people and macros write it: ``128``, ``0.5``, ``true``."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def macro_text(value: Value) -> str:
    """As a define of C++ has it."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def variation(parameters: Iterable[Parameter]) -> str:
    """``BLOCK=128 num_warps=8``, the values that are not the default, by which an implementation is known."""
    return " ".join(one.text for one in parameters if not one.is_default)


def carried(parameters: Iterable[Parameter], before: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """These with the values of before, as far as they are still declared."""
    values = {one.name: one.value for one in before}
    return tuple(
        one.chosen(values[one.name]) if values.get(one.name) in one.choices else one for one in parameters
    )


def combinations(
    parameters: Iterable[Parameter], wanted: Mapping[str, Iterable[Value]]
) -> Iterator[tuple[Parameter, ...]]:
    """Each combination of the values wanted of each; of one that none is wanted of, as it is."""
    each = [
        [one.chosen(value) for value in wanted[one.name]] if one.name in wanted else [one]
        for one in parameters
    ]
    return itertools.product(*each)


def read_parameters(name: str, source: str) -> tuple[Parameter, ...]:
    """What a file of this name declares, in its order. Raises ParameterError.

    A file that Python cannot read declares nothing: its build says what is wrong.
    """
    if _CHOICE not in source:  # nearly all: reading them as Python takes most of a scan
        return ()
    declared = _in_cpp(source) if not name.endswith(".py") else _in_python(source)
    found = tuple(declared)
    for number, one in enumerate(found):
        if one.name in {other.name for other in found[:number]}:
            raise ParameterError(f"it declares the parameter {one.name} twice")
    return found


def put_values(tree: ast.Module, parameters: Iterable[Parameter]) -> None:
    """Put the chosen values in the place of their declarations, on the same lines."""
    values = {one.name: one.value for one in parameters}
    for name, holder in _declarations(tree):
        if name in values:
            call = holder.value
            assert call is not None
            constant = ast.copy_location(ast.Constant(values[name]), _choice_in(call, _names(tree)) or call)
            if isinstance(call, ast.Call) and call.args and not _is_choice(call, _names(tree)):
                call.args[0] = constant
            else:
                holder.value = constant


def _in_cpp(source: str) -> Iterator[Parameter]:
    for match in _IN_CPP.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        try:
            call = ast.parse(match[2].strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            call = None
        if not isinstance(call, ast.Call):
            raise ParameterError(f"its parameter {match[1]} on line {line} is no Choice that can be read")
        yield _parameter(match[1], call, line)


def _in_python(source: str) -> tuple[Parameter, ...]:
    if _DOOR not in source:
        return ()
    if len(source) > _LONGEST:
        raise ParameterError(f"it declares parameters and has more than {_LONGEST >> 10} KiB")
    return _declared(source)


@lru_cache(maxsize=1024)  # for the next scan, of nearly the same files
def _declared(source: str) -> tuple[Parameter, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    names, known, found = _names(tree), set[ast.Call](), list[Parameter]()
    for name, holder in _declarations(tree):
        call = _choice_in(holder.value, names)
        assert call is not None
        known.add(call)
        found.append(_parameter(name, call, call.lineno))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node not in known and _is_choice(node, names):
            raise ParameterError(
                f"its Choice on line {node.lineno} is assigned to no name at the top of the file; "
                "write it there, as in BLOCK = Choice(64, 128)"
            )
    return tuple(found)


def _names(tree: ast.Module) -> tuple[frozenset[str], frozenset[str]]:
    """Under which names the file knows Choice, and Roofscope."""
    direct, doors = set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == _DOOR:
            direct |= {one.asname or one.name for one in node.names if one.name == _CHOICE}
        elif isinstance(node, ast.Import):
            doors |= {one.asname or one.name for one in node.names if one.name == _DOOR}
    return frozenset(direct), frozenset(doors)


def _declarations(tree: ast.Module) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    names = _names(tree)
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if _choice_in(node.value, names):
                    yield name, node
            case _:
                pass


def _choice_in(value: ast.expr | None, names: tuple[frozenset[str], frozenset[str]]) -> ast.Call | None:
    """The call of Choice, which another call may wrap, as in ``tl.constexpr(Choice(64, 128))``."""
    match value:
        case ast.Call() if _is_choice(value, names):
            return value
        case ast.Call(args=[ast.Call() as inner], keywords=[]) if _is_choice(inner, names):
            return inner
        case _:
            return None


def _is_choice(call: ast.Call, names: tuple[frozenset[str], frozenset[str]]) -> bool:
    direct, doors = names
    match call.func:
        case ast.Name(id=name):
            return name in direct
        case ast.Attribute(value=ast.Name(id=door), attr=name):
            return name == _CHOICE and door in doors
        case _:
            return False


def _parameter(name: str, call: ast.Call, line: int) -> Parameter:
    """Raises ParameterError."""
    where = f"its parameter {name} on line {line}"
    try:
        choices: tuple[Value, ...] = tuple(ast.literal_eval(one) for one in call.args)
        given = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise ParameterError(f"{where} has a choice that is no plain number or text") from None
    if set(given) - {"default"}:
        raise ParameterError(f"{where} has an argument besides its choices and default")
    default = given.get("default")
    if fault := _fault(choices, default):
        raise ParameterError(f"{where} {fault}")
    chosen = choices[0] if default is None else default
    return Parameter(name, choices, chosen, chosen)


def _fault(choices: tuple[Value, ...], default: Value | None) -> str:
    """Why these are no choices, in a clause without its subject; "" where they are."""
    if not choices:
        return "has no choices"
    if len(choices) > MOST_CHOICES:
        return f"has {len(choices)} choices; {MOST_CHOICES} are the most"
    kinds = {type(one) for one in choices}
    if not kinds <= {int, float, bool, str}:
        return "has a choice that is no plain number or text"
    if len(kinds) > 1:
        return "has choices of several types; give it one"
    for one in choices:
        if isinstance(one, str) and not (_TEXT.fullmatch(one) and len(one) <= _LONGEST_TEXT):
            return f"has the choice {ascii(one)[:60]}; a text is of letters, digits and . + - _"
        if isinstance(one, float) and not math.isfinite(one):
            return f"has the choice {one}; it must be a number"
        if isinstance(one, int) and abs(one) > _LARGEST:
            return "has a choice beyond 64 bits"
    if len(set(choices)) < len(choices):
        return "has a choice twice"
    if default is not None and (type(default) not in kinds or default not in choices):
        return f"has the default {default!r}, which is none of its choices"
    return ""


def _spellings(value: Value) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (str(value), str(value).lower(), str(int(value)))
    return (str(value), f"{value:g}") if isinstance(value, float) else (str(value),)
