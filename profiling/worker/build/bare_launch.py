"""Launches a user's bare ``__global__`` kernel by the grid, the block and the arguments of its form."""

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from roofscope.profiling.planning.one_file.offers import Offer
from roofscope.profiling.planning.one_file.parts import Entry
from roofscope.profiling.planning.parameters import Parameter
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.build.contract import Tensors
from roofscope.profiling.worker.build.own_file import call_in
from roofscope.profiling.worker.failures import BuildError

_SCALARS = {Dtype.FLOAT32: "float", Dtype.FLOAT16: "__half", Dtype.BFLOAT16: "__nv_bfloat16"}


def _half(value: Any) -> np.uint16:
    """The bits, because ctypes knows no type of 16 bits with a fraction."""
    return np.float16(value).view(np.uint16)


def _bfloat16(value: Any) -> np.uint16:
    return np.uint16(int(torch.tensor(float(value), dtype=torch.bfloat16).view(torch.int16)) & 0xFFFF)


_NUMBERS: dict[str, Callable[[Any], np.generic]] = {
    "bool": np.bool_,
    "char": np.int8,
    "int8_t": np.int8,
    "unsigned char": np.uint8,
    "uint8_t": np.uint8,
    "short": np.int16,
    "int16_t": np.int16,
    "unsigned short": np.uint16,
    "uint16_t": np.uint16,
    "int": np.int32,
    "int32_t": np.int32,
    "unsigned": np.uint32,
    "uint32_t": np.uint32,
    "long": np.int64,
    "long long": np.int64,
    "int64_t": np.int64,
    "ptrdiff_t": np.int64,
    "unsigned long": np.uint64,
    "unsigned long long": np.uint64,
    "size_t": np.uint64,
    "uint64_t": np.uint64,
    "half": _half,
    "__half": _half,
    "nv_bfloat16": _bfloat16,
    "__nv_bfloat16": _bfloat16,
    "float": np.float32,
    "double": np.float64,
}
_QUALIFIERS = frozenset(("const", "volatile", "signed", "register", "__restrict__", "__grid_constant__"))


@dataclass(frozen=True)
class BareLaunch:
    """``run`` takes a program and the inputs; ``kernel`` is the kernel's name in C++."""

    run: Callable[..., Tensors]
    kernel: str


def bare_launch(entry: Entry, offer: Offer, dtype: Dtype, parameters: Iterable[Parameter] = ()) -> BareLaunch:
    """Raises BuildError where the call has not the kernel's parameters. Grid and block may name constants."""
    where = f"{Path(entry.form).name}:{entry.line}"
    try:
        call = ast.parse(entry.call.strip(), mode="eval").body
    except SyntaxError as error:
        raise BuildError(f"{where}: the call {entry.call!r} cannot be read: {error.msg}.", "") from error
    if not isinstance(call, ast.Call) or call.keywords or len(call.args) != len(offer.parameters):
        raise BuildError(
            f"{where}: {offer.signature} takes {len(offer.parameters)} arguments, unlike {entry.call!r}.",
            "",
        )
    kernel = offer.namespace + (f"{offer.name}<{_SCALARS[dtype]}>" if offer.template else offer.name)
    arguments: list[str] = []
    numbers: dict[str, Any] = {"cdiv": cdiv, "torch": torch}
    numbers |= {one.name: one.value for one in parameters}
    for number, (argument, parameter) in enumerate(zip(call.args, offer.parameters, strict=True)):
        text = ast.unparse(argument)
        if not parameter.is_pointer:
            kind = _SCALARS[dtype] if offer.template in parameter.type.split() else parameter.type
            make = number_of(kind)
            if make is None:
                raise BuildError(
                    f"{where}: {offer.signature} takes {parameter.name} as {parameter.type!r}, a type whose "
                    "numbers are not known; write it as float, double, int or another type of C.",
                    "",
                )
            numbers[f"_number{number}"] = make
            text = f"_number{number}({text})"
        arguments.append(text)
    shared = f", shared_bytes={entry.shared_bytes}" if entry.shared_bytes else ""
    extents = f"_extent({entry.grid}), _extent({entry.block})"
    statement = f"_program.launch({kernel!r}, {extents}, {', '.join(arguments)}{shared})"
    numbers["_extent"] = _extent
    return BareLaunch(call_in(entry, numbers, dtype, statement, ("_program",)), kernel)


def number_of(kind: str) -> Callable[[Any], np.generic] | None:
    """What makes a number of a C type such as ``const unsigned int``; None where the type is not known."""
    words = [word for word in kind.replace("std::", "").split() if word not in _QUALIFIERS]
    if len(words) > 1 and "int" in words:  # of short int, unsigned int
        words.remove("int")
    if "unsigned" in words:  # which may stand behind: long unsigned
        words = ["unsigned", *(word for word in words if word != "unsigned")]
    return _NUMBERS.get(" ".join(words) or "int")


def cdiv(size: int, by: int) -> int:
    """Blocks of so many that hold the size."""
    return -(-size // by)


def _extent(*sizes: Any) -> int | tuple[int, ...]:
    """``256``, ``(16, 16)`` or ``16, 16``."""
    if len(sizes) == 1:
        return sizes[0]
    return tuple(sizes)
