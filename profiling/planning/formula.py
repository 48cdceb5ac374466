"""Integer arithmetic and conditions over a kernel's axes, as specs and implementations state them.

They are data: a session file may carry a formula, so nothing but arithmetic is ever evaluated.
"""

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

# A formula comes from a file, perhaps a stranger's: 9**9**9 would take all memory.
LARGEST = 2**63 - 1  # of a formula's value: what a session file and the protocol hold
_LARGEST_EXPONENT = 64
_MOST_BITS = 256  # of a value on the way
_LONGEST = 1000  # characters
_DEEPEST = 100  # operations within operations, as in a sum of so many terms
_SHOWN = 60  # characters of a formula in a sentence


class FormulaError(ValueError):
    """A formula is not plain integer arithmetic, or no condition, over its axes."""


def _power(base: int, exponent: int) -> int:
    if not 0 <= exponent <= _LARGEST_EXPONENT:
        raise FormulaError(f"An exponent is {exponent}; it must be from 0 to {_LARGEST_EXPONENT}.")
    if base.bit_length() * exponent > 2 * _MOST_BITS:
        raise OverflowError
    return base**exponent


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@lru_cache(maxsize=4096)
def _parse(formula: str) -> ast.expr:
    if len(formula) > _LONGEST:
        raise FormulaError(f"The formula {_quoted(formula)} has more than {_LONGEST} characters.")
    try:
        parsed = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        fault = error.msg if isinstance(error, SyntaxError) else "it is no text that Python reads"
        raise FormulaError(f"The formula {_quoted(formula)} cannot be read: {fault}.") from error
    level: list[ast.AST] = [parsed]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return parsed
    raise FormulaError(f"The formula {_quoted(formula)} has more than {_DEEPEST} terms or levels.")


def evaluate(formula: str, values: Mapping[str, int]) -> int:
    """Evaluate integer arithmetic (+ - * // % **, parentheses, names) such as ``2*rows*cols*s``.

    Raises FormulaError for anything else, for an unknown name, and for a value beyond 64 bits.
    """
    number = _number(_parse(formula), formula, values)
    if abs(number) > LARGEST:
        raise FormulaError(f"The formula {_quoted(formula)} comes to more than 2**63.")
    return number


def holds(condition: str, values: Mapping[str, int]) -> bool:
    """Whether a condition is true, such as ``n % 8 == 0 and 64 <= n <= 4096``.

    It compares (== != < <= > >=) what ``evaluate`` takes, and joins comparisons by and, or, not. Raises
    FormulaError for anything else or for an unknown name.
    """
    return _truth(_parse(condition), condition, values)


def condition_fault(condition: str, names: Collection[str]) -> str | None:
    """What is wrong with a condition over these names, in a sentence, at any values; None if nothing."""
    try:
        node = _parse(condition)
        _check_condition(node, condition)
        for found in ast.walk(node):
            if isinstance(found, ast.Name) and found.id not in names:
                raise FormulaError(f"The formula {_quoted(condition)} uses {found.id!r}, which is no axis.")
    except FormulaError as error:
        return str(error)
    return None


def _number(node: ast.expr, formula: str, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(node.value, bool):
            return number
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Name(id=name):
            raise FormulaError(f"The formula {_quoted(formula)} uses {name!r}, which is no axis.")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            one, other = _number(left, formula, values), _number(right, formula, values)
            try:
                number = _OPERATORS[type(op)](one, other)
            except ZeroDivisionError as error:
                raise FormulaError(f"The formula {_quoted(formula)} divides by zero.") from error
            except OverflowError as error:
                raise _too_large(formula) from error
            if number.bit_length() > _MOST_BITS:
                raise _too_large(formula)
            return number
        case _:
            raise FormulaError(f"The formula {_quoted(formula)} is not integer arithmetic.")


def _truth(node: ast.expr, condition: str, values: Mapping[str, int]) -> bool:
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_truth(part, condition, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_truth(part, condition, values) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return not _truth(part, condition, values)
        case ast.Compare(left=left, ops=ops, comparators=others) if _are_comparisons(ops):
            numbers = [_number(part, condition, values) for part in (left, *others)]
            pairs = zip(ops, numbers, numbers[1:], strict=False)
            return all(_COMPARISONS[type(op)](one, other) for op, one, other in pairs)
        case _:
            raise _no_condition(condition)


def _check_condition(node: ast.expr, condition: str) -> None:
    """The shape alone, every part of it: ``and`` and ``or`` evaluate only some. Raises FormulaError."""
    match node:
        case ast.BoolOp(values=parts):
            for part in parts:
                _check_condition(part, condition)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            _check_condition(part, condition)
        case ast.Compare(left=left, ops=ops, comparators=others) if _are_comparisons(ops):
            for part in (left, *others):
                _check_number(part, condition)
        case _:
            raise _no_condition(condition)


def _check_number(node: ast.expr, condition: str) -> None:
    match node:
        case ast.Name():
            pass
        case ast.Constant(value=int()) if not isinstance(node.value, bool):
            pass
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check_number(left, condition)
            _check_number(right, condition)
        case _:
            raise _no_condition(condition)


def _are_comparisons(ops: list[ast.cmpop]) -> bool:
    return all(type(op) in _COMPARISONS for op in ops)


def _no_condition(condition: str) -> FormulaError:
    return FormulaError(
        f"The formula {_quoted(condition)} is no condition; compare axes, as in 'n % 8 == 0 and n >= 64'."
    )


def _too_large(formula: str) -> FormulaError:
    return FormulaError(f"The formula {_quoted(formula)} passes 2**{_MOST_BITS} on the way.")


def _quoted(formula: str) -> str:
    return ascii(formula) if len(formula) <= _SHOWN else f"{formula[:_SHOWN]!a}..."
