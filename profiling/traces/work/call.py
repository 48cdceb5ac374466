"""An operator's call as the profiler records it with `record_shapes`: tensors, numbers and lists by position.

`Input Dims`, `Input Strides` and `Input type` hold one entry an argument, in the order of the schema in
`aten/src/ATen/native/native_functions.yaml`; `Concrete Inputs` holds numbers and lists as text, "" for the
rest. A result that is given (`out=`) stands behind them all.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NoReturn, cast

from msgspec import Struct

_MOST = 1 << 40  # elements along an axis; a larger one is no size

_BYTES = {
    "float": 4,
    "double": 8,
    "c10::Half": 2,
    "c10::BFloat16": 2,
    "c10::Float8_e4m3fn": 1,
    "c10::Float8_e5m2": 1,
    "signed char": 1,
    "unsigned char": 1,
    "bool": 1,
    "short": 2,
    "short int": 2,
    "int": 4,
    "long": 8,
    "long int": 8,
}
FLOATING = ("float", "double", "c10::Half", "c10::BFloat16")
_LABELS = {
    "float": "fp32",
    "double": "fp64",
    "c10::Half": "fp16",
    "c10::BFloat16": "bf16",
    "c10::Float8_e4m3fn": "fp8 e4m3",
    "c10::Float8_e5m2": "fp8 e5m2",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short int": "int16",
    "int": "int32",
    "long int": "int64",
    "long": "int64",
}
# Numbers of c10::ScalarType, as an argument `dtype` is recorded (c10/core/ScalarType.h).
_BY_NUMBER = {
    "5": "c10::Half",
    "6": "float",
    "7": "double",
    "15": "c10::BFloat16",
    "4": "long int",
    "11": "bool",
}


# What the profiler writes for an argument that is no tensor; older ones write the names from "Int" on.
_NO_TENSORS = (
    *("", "Scalar", "ScalarList", "None"),
    *("Int", "Double", "Bool", "String", "IntList", "DoubleList", "BoolList", "GenericList"),
)


class UnknownWork(Exception):
    """The text is the reason, as half a sentence."""


def unknown(why: str) -> NoReturn:
    raise UnknownWork(why)


class Operand(Struct, frozen=True):
    """A tensor that was given to an operator."""

    dims: tuple[int, ...]
    strides: tuple[int, ...] | None  # None where the trace has none
    dtype: str  # as the profiler writes it

    @property
    def elements(self) -> int:
        return prod(self.dims)

    @property
    def byte_count(self) -> int | None:
        """Of what it holds in memory: an axis of stride 0, which was expanded, repeats the same elements.

        None where the trace has no strides, as those of older torch have none.
        """
        if self.strides is None:
            return None
        if 0 in self.dims:
            return 0
        apart = prod(size for size, stride in zip(self.dims, self.strides, strict=True) if stride)
        span = 1 + sum((size - 1) * abs(stride) for size, stride in zip(self.dims, self.strides, strict=True))
        return min(apart, span) * itemsize(self.dtype)


def itemsize(dtype: str) -> int:
    if dtype not in _BYTES:
        unknown("an element type is not recorded")
    return _BYTES[dtype]


def type_label(dtype: str) -> str:
    return _LABELS.get(dtype, dtype)


def computed(operands: list[Operand]) -> str:
    """The one floating type of these tensors; a lone number among them does not change it."""
    types = {each.dtype for each in operands}
    if len(types) != 1 or not types <= set(FLOATING):
        unknown("the type of its result is not known")
    return types.pop()


def type_numbered(number: str) -> str:
    return _BY_NUMBER.get(number) or unknown("the type of its result is not known")


class Call(Struct, frozen=True):
    name: str  # aten::mm
    dims: tuple[Any, ...]
    strides: tuple[Any, ...] | None
    types: tuple[str, ...]
    concrete: tuple[str, ...]

    def has(self, at: int) -> bool:
        """Whether an optional tensor is given."""
        return at < len(self.types) and self.types[at] not in _NO_TENSORS

    def tensor(self, at: int) -> Operand:
        if not self.has(at):
            unknown("a tensor that it needs is not recorded")
        if self.types[at] == "TensorList":
            unknown("the types of a list of tensors are not recorded")
        dims = _sizes(self.dims[at])
        strides = _sizes(self.strides[at]) if self.strides is not None else None
        if strides is not None and len(strides) != len(dims):
            strides = None
        return Operand(dims, strides, self.types[at])

    def given(self, *places: int) -> list[Operand]:
        """Those of these tensors that are given and have a dimension: a lone number may lie on the host."""
        found = [self.tensor(at) for at in places if self.has(at)]
        return [each for each in found if each.dims]

    def text(self, at: int) -> str:
        return self.concrete[at].strip() if at < len(self.concrete) else ""

    def optional(self, at: int) -> str:
        """Of a number or a list that may be None: its text, "" for None.

        Traces of older torch record what such an argument is, and not its value.
        """
        found = self.text(at)
        if not found and at < len(self.types) and self.types[at] not in ("", "None"):
            unknown("an argument that decides is not recorded")
        return found

    def flag(self, at: int) -> bool:
        found = self.text(at)
        if found not in ("True", "False"):
            unknown("an argument that decides is not recorded")
        return found == "True"

    def flags(self, at: int) -> tuple[bool, ...]:
        words = _items(self.text(at))
        if not words or any(word not in ("True", "False") for word in words):
            unknown("an argument that decides is not recorded")
        return tuple(word == "True" for word in words)

    def number(self, at: int) -> int:
        [found] = self.numbers(at, 1)
        return found

    def numbers(self, at: int, count: int | None = None) -> tuple[int, ...]:
        """A list; one number stands for each of ``count``."""
        words = _items(self.text(at))
        try:
            found = tuple(map(int, words))
        except ValueError:
            unknown("an argument that decides is not recorded")
        if count is not None and len(found) == 1:
            found *= count
        if (count is not None and len(found) != count) or any(abs(each) > _MOST for each in found):
            unknown("an argument that decides is not recorded")
        return found


def call_of(name: str, arguments: Mapping[str, Any]) -> Call:
    """Raises UnknownWork where shapes were not recorded, or are no shapes."""
    dims, types = arguments.get("Input Dims"), arguments.get("Input type")
    if not isinstance(dims, list) or not isinstance(types, list):
        unknown("no shapes were recorded")
    shapes, kinds = cast(Sequence[Any], dims), [str(each) for each in cast(Sequence[Any], types)]
    if len(shapes) != len(kinds):
        unknown("its recorded shapes are incomplete")
    found: Any = arguments.get("Input Strides")
    strides = tuple(cast(Sequence[Any], found)) if isinstance(found, list) else None
    strides = strides if strides is not None and len(strides) == len(shapes) else None
    said: Any = arguments.get("Concrete Inputs")
    concrete = [str(each) for each in cast(Sequence[Any], said)] if isinstance(said, list) else []
    return Call(name, tuple(shapes), strides, tuple(kinds), tuple(concrete))


def _sizes(found: Any) -> tuple[int, ...]:
    sizes = cast(Sequence[Any], found) if isinstance(found, list) else [None]
    if not all(type(each) is int and 0 <= each <= _MOST for each in sizes):
        unknown("its recorded shapes are incomplete")
    return tuple(sizes)


def _items(text: str) -> list[str]:
    """Of ``[1, 1]``, and of a lone ``1``."""
    return [word for word in (part.strip() for part in text.strip("[]").split(",")) if word]
