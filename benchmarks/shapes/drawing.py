"""Sizes drawn at random: what users bring, not what presets and sweeps were tuned on.

Every size is log-uniform between two ends, because kernels change their ways by factors and not by
differences. Shape by shape three kinds take turns: any; an odd number of columns, where every row begins at
another alignment; few long rows, which only fill the device if several blocks share each. What passes a bound
is drawn again. Each shape has a stream of random numbers of its own, from the seed, the kernel, the dtype and
its number: what else is drawn, and in which order, changes nothing.
"""

import math
import random
from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import cycle, islice

from msgspec import Struct

from roofscope.profiling.planning.formula import FormulaError
from roofscope.profiling.planning.spec import Dtype, KernelSpec, Workload

# Below it every version takes the time of a launch, and a ratio says nothing of a kernel.
LEAST_BYTES = 2**16
# A gigabyte is 20 times the last-level cache: larger arrays take longer and show nothing new.
MOST_BYTES = 2**30
# Of the device's memory: the judge's float64 copies and what eager keeps between take ten times the inputs.
PART_OF_MEMORY = 64
MOST_FLOPS = 2 * 10**12  # 3 ms of an H100's tensor cores, 40 ms of its float32
_MOST_TRIES = 20_000

Sizes = dict[str, int]


class Kind(StrEnum):
    ANY = "any"
    ODD = "odd columns"
    LONG = "few long rows"


class Span(Struct, frozen=True):
    """One axis: log-uniform from ``low`` to ``high``, or one of ``values``, each as likely."""

    low: int = 1
    high: int = 1
    values: tuple[int, ...] = ()

    def drawn(self, at: float) -> int:
        """The size that a random number from 0 to 1 stands for."""
        if self.values:
            return self.values[int(at * len(self.values))]
        low, high = math.log(self.low), math.log(self.high + 1)
        return min(max(int(math.exp(low + at * (high - low))), self.low), self.high)


class Drawing(Struct, frozen=True):
    """How kernels with the same axes are drawn."""

    spans: dict[str, Span]
    odd: dict[str, Span]  # the axes that are odd in a third of the shapes
    long: dict[str, Span]  # over ``spans`` where the rows are few and long


class Shape(Struct, frozen=True):
    """One workload that was drawn."""

    number: int  # from 1, within the kernel
    kind: Kind
    workload: Workload


class CannotDraw(ValueError):
    """No shapes can be drawn of a kernel; the text is one sentence for the user."""


_FEW, _LONG = Span(1, 16), Span(2**15, 2**26)
# Of a single column a norm is rounding alone: no two versions agree on it, eager included.
_COLUMNS, _HEADS = Span(2, 2**18), Span(1, 32)
_GROUP = Span(values=(32, 64, 128))
_DRAWINGS = (
    Drawing({"n": Span(2**10, 2**28)}, {"n": Span(2**10, 2**28)}, {"n": Span(2**24, 2**30)}),
    Drawing(
        {"rows": Span(1, 2**20), "cols": _COLUMNS},
        {"cols": _COLUMNS},
        {"rows": _FEW, "cols": _LONG},
    ),
    Drawing(
        {"rows": Span(1, 2**20), "groups": Span(1, 2**12), "group": _GROUP},
        {"groups": Span(1, 2**12)},  # codes lie in pairs, so a group is even always
        {"rows": _FEW, "groups": Span(2**9, 2**20)},
    ),
    Drawing(
        {name: Span(16, 2**14) for name in "mnk"},
        {name: Span(17, 2**14) for name in "nk"},  # the columns of both matrices
        {"m": _FEW, "n": Span(2**12, 2**16), "k": Span(2**12, 2**16)},
    ),
    Drawing(
        {"m": Span(1, 64), "n": Span(256, 2**15), "groups": Span(4, 2**7), "group": _GROUP},
        {"n": Span(257, 2**15), "groups": Span(5, 2**7)},
        {"m": Span(1, 4), "groups": Span(2**7, 2**10)},
    ),
    Drawing(
        {"batch": Span(1, 16), "heads": _HEADS, "seq": Span(16, 2**14), "dim": Span(values=(64, 128))},
        {"seq": Span(17, 2**14)},
        {"batch": Span(1, 2), "heads": Span(1, 8), "seq": Span(2**13, 2**16)},
    ),
    Drawing(
        {"batch": Span(1, 16), "heads": _HEADS, "seq": Span(1, 2**16), "half": Span(values=(32, 64, 128))},
        {"half": Span(17, 129)},
        {"batch": Span(1, 2), "heads": Span(1, 4), "seq": Span(2**14, 2**20)},
    ),
    Drawing(
        {
            "batch": Span(1, 16),
            "kv_heads": Span(1, 8),
            "group": Span(1, 8),
            "seq": Span(16, 2**14),
            "dim": Span(values=(64, 128)),
        },
        {"seq": Span(17, 2**14)},
        {"batch": Span(1, 2), "kv_heads": Span(1, 2), "group": Span(1, 4), "seq": Span(2**13, 2**16)},
    ),
    Drawing(
        {
            "batch": Span(1, 128),
            "shortest": Span(1, 128),  # tokens; the longest has 128 times as many
            "kv_heads": Span(1, 16),
            "group": Span(1, 8),
            "dim": Span(values=(64, 128)),
        },
        {"shortest": Span(1, 127)},
        {"batch": Span(1, 2), "shortest": Span(64, 512), "kv_heads": Span(1, 2), "group": Span(1, 4)},
    ),
    Drawing(
        {
            "batch": Span(1, 256),
            "kv_heads": Span(1, 16),
            "group": Span(1, 16),
            "pages": Span(1, 2**10),
            "page": Span(values=(16, 64)),
            "dim": Span(values=(64, 128)),
        },
        {"group": Span(1, 15), "pages": Span(1, 2**10)},
        {"batch": Span(1, 2), "pages": Span(2**8, 2**12)},
    ),
    Drawing(
        {"tokens": Span(1, 2**16), "experts": Span(1, 128), **{name: Span(64, 2**13) for name in "nk"}},
        {name: Span(65, 2**13) for name in "nk"},
        {"tokens": Span(1, 16), "experts": Span(4, 64), **{name: Span(2**10, 2**13) for name in "nk"}},
    ),
    Drawing(
        {"rows": Span(1, 2**13), "vocab": Span(2**8, 2**18), "hidden": Span(64, 2**13)},
        {"vocab": Span(2**8 + 1, 2**18), "hidden": Span(65, 2**13)},
        {"rows": Span(1, 16), "vocab": Span(2**15, 2**18), "hidden": Span(2**8, 2**13)},
    ),
    Drawing(
        {
            "batch": Span(1, 16),
            "seq": Span(16, 2**15),
            "heads": Span(1, 16),
            "groups": Span(1, 4),
            "dim": Span(values=(64, 128)),
        },
        {"seq": Span(17, 2**15)},
        {"batch": Span(1, 2), "heads": Span(1, 4), "seq": Span(2**14, 2**17)},
    ),
)


def drawing_of(spec: KernelSpec) -> Drawing:
    """Raises CannotDraw for axes that none is made for."""
    names = {axis.name for axis in spec.axes}
    for drawing in _DRAWINGS:
        if set(drawing.spans) == names:
            return drawing
    axes = ", ".join(axis.name for axis in spec.axes)
    raise CannotDraw(f"Shapes of {spec.name} are not drawn: nothing is known of the axes {axes}.")


def draw(spec: KernelSpec, dtype: Dtype, *, seed: int, count: int, memory_bytes: int) -> tuple[Shape, ...]:
    """Shapes that differ, whether our implementations take them or not: where none does, it falls short.

    The first of 40 are those of a smaller ``count``. Raises CannotDraw.
    """
    drawing = drawing_of(spec)
    shapes: list[Shape] = []
    drawn: set[tuple[int, ...]] = set()

    def is_new_and_fits(sizes: Sizes) -> bool:
        return tuple(sizes.values()) not in drawn and fits(spec, dtype, sizes, memory_bytes)

    for number, kind in enumerate(islice(cycle(Kind), count), start=1):
        stream = random.Random(f"{seed} {spec.name} {dtype} {number}")  # a text: the same on every machine
        sizes = _first(_sizes(spec, drawing, kind, stream), is_new_and_fits)
        if sizes is None:
            raise CannotDraw(f"Of {_MOST_TRIES} shapes of {spec.name} with {kind} none fits this device.")
        drawn.add(tuple(sizes.values()))
        shapes.append(Shape(number, kind, Workload(spec.name, dtype, sizes)))
    return tuple(shapes)


def fits(spec: KernelSpec, dtype: Dtype, sizes: Sizes, memory_bytes: int) -> bool:
    """Whether a shape is within the bounds of this module and the kernel's axes."""
    if spec.problem_with(sizes):
        return False
    try:
        work = spec.work_at(sizes, dtype)
    except FormulaError:
        return False
    most = min(MOST_BYTES, memory_bytes // PART_OF_MEMORY)
    return LEAST_BYTES <= work.byte_count <= most and work.flop_count <= MOST_FLOPS


def _sizes(spec: KernelSpec, drawing: Drawing, kind: Kind, stream: random.Random) -> Iterator[Sizes]:
    """One drawing after another, the axes in the spec's order."""
    changed = {Kind.ANY: {}, Kind.ODD: drawing.odd, Kind.LONG: drawing.long}[kind]
    spans = {**drawing.spans, **changed}
    odd = drawing.odd if kind is Kind.ODD else {}
    for _ in range(_MOST_TRIES):
        sizes = {axis.name: spans[axis.name].drawn(stream.random()) for axis in spec.axes}
        yield {name: _odd(size, spans[name].low) if name in odd else size for name, size in sizes.items()}


def _odd(size: int, low: int) -> int:
    """The size, or the odd one below it; none below ``low``."""
    return max(size - 1 + size % 2, low | 1)


def _first(sizes: Iterator[Sizes], is_wanted: Callable[[Sizes], bool]) -> Sizes | None:
    return next(filter(is_wanted, sizes), None)
