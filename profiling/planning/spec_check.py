"""Checks, before anything is measured, that a spec which a person wrote can be planned and stored."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import msgspec

from roofscope.profiling.plain_text import visible
from roofscope.profiling.planning.formula import LARGEST, FormulaError
from roofscope.profiling.planning.spec import Dtype, KernelSpec, size_text

_PROSE = ("title", "formula", "meaning")  # may have lines; names and expressions are of one


def spec_error(spec: KernelSpec) -> str | None:
    """What is wrong with a spec, in a clause; None if nothing is.

    A msgspec class accepts any arguments; it checks types only when it reads a file.
    """
    try:
        data = msgspec.to_builtins(spec)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        return f"it holds what is no data ({error})"
    try:
        msgspec.convert(data, KernelSpec)
    except msgspec.MsgspecError as error:
        return str(error).replace("`", "").replace("$.", "")
    for name, value in _leaves("", data):
        if fault := _fault(value, is_prose=name.rpartition(".")[2] in _PROSE):
            return f"{name} {fault}"
    chosen = [*(preset.sizes for preset in spec.presets), *spec.odd_sizes[:1]]
    for sizes in (*chosen, *spec.odd_sizes, *spec.sweep):
        if problem := spec.problem_with(sizes):
            return problem.rstrip(".")
    for sizes in chosen:  # not every size, which would take nearly as long as the rest of the scan
        try:
            _evaluate(spec, sizes)
        except FormulaError as error:
            return f"{str(error).rstrip('.')} (at {size_text(sizes)})"
    return None


def _leaves(name: str, data: object) -> Iterator[tuple[str, object]]:
    """Every text and number of a spec as data, with its name, such as ``tolerance.float32``."""
    if isinstance(data, dict):
        for key, value in cast(dict[object, object], data).items():
            yield f"a name in {name}", key
            yield from _leaves(f"{name}.{key}" if name else str(key), value)
    elif isinstance(data, list | tuple):
        for number, value in enumerate(cast(Sequence[object], data)):
            yield from _leaves(f"{name}[{number}]", value)
    else:
        yield name, data


def _fault(value: object, *, is_prose: bool) -> str:
    """Why a value cannot be stored or shown, in a clause without its subject; "" where it can."""
    match value:
        case float() if not math.isfinite(value):
            return f"is {value}; it must be a number"
        case float() if value < 0:
            return f"is {value}; it must not be negative"
        case int() if abs(value) > LARGEST:
            return "is beyond 64 bits"
        case str() if visible(value) != value or not (is_prose or value.isprintable()):
            return f"has a character that cannot be shown: {ascii(value)[:60]}"
        case _:
            return ""


def _evaluate(spec: KernelSpec, sizes: Mapping[str, int]) -> None:
    for tensor in (*spec.inputs, *spec.outputs):
        if any(dimension < 0 for dimension in spec.shape(tensor, sizes)):
            raise FormulaError(f"The tensor {tensor.name!r} has a negative dimension.")
    spec.work_at(sizes, Dtype.FLOAT32)
