"""Ticks of a sweep: the sizes that were measured along x, round values along y."""

import math
from collections.abc import Callable, Iterable

from roofscope.app.presentation.formatting import folded_text
from roofscope.app.presentation.roofline.scene import Range
from roofscope.app.presentation.roofline.ticks import Tick, log_ticks
from roofscope.app.presentation.sweep.quantity import Quantity

_GAP = 14.0  # pixels between two labels
_ENOUGH = 2  # labels from which an axis can be read


def size_ticks(
    sizes: Iterable[float], view: Range, pixels: float, width: Callable[[str], float]
) -> tuple[Tick, ...]:
    """A tick at each size, log10; as many labelled as there is room for, powers of two before others."""
    shown = sorted({size for size in sizes if view.low - 1e-9 <= math.log10(size) <= view.high + 1e-9})
    if len(shown) < _ENOUGH:  # zoomed in between two sizes
        powers = range(math.ceil(view.low / math.log10(2)), math.floor(view.high / math.log10(2)) + 1)
        if len(powers) < _ENOUGH:
            return log_ticks(view.low, view.high, int(pixels / 70))
        shown = [2.0**power for power in powers]
    scale = pixels / view.span
    taken: list[tuple[float, float]] = []
    labelled: set[float] = set()
    for size in sorted(shown, key=lambda size: _rank(size, shown, scale, width)):
        middle, half = (math.log10(size) - view.low) * scale, width(_text(size)) / 2 + _GAP / 2
        if all(middle + half <= low or high <= middle - half for low, high in taken):
            taken.append((middle - half, middle + half))
            labelled.add(size)
    return tuple(Tick(math.log10(size), _text(size) if size in labelled else "") for size in shown)


def _rank(
    size: float, shown: list[float], scale: float, width: Callable[[str], float]
) -> tuple[int, int, float]:
    """Powers of two at an even stride first, then other powers of two, then what is left."""
    powers = [other for other in shown if _is_power(other)]
    if not _is_power(size):
        return 2, 0, size
    step = scale * math.log10(2)
    widest = max(width(_text(other)) for other in powers) + _GAP
    stride = max(1, math.ceil(widest / step))
    return (0 if round(math.log2(size) - math.log2(powers[0])) % stride == 0 else 1), 0, size


def _is_power(size: float) -> bool:
    return size >= 1 and math.log2(size).is_integer()


def _text(size: float) -> str:
    return folded_text(round(size))


def value_ticks(quantity: Quantity, view: Range, is_log: bool, count: int) -> tuple[Tick, ...]:
    """About ``count`` ticks with their units; positions as the range has them."""
    if is_log:
        ticks = log_ticks(view.low, view.high, count)
        return tuple(
            Tick(tick.position, quantity.tick_text(10**tick.position) if tick.label else "") for tick in ticks
        )
    rough = view.span / max(count, 1)
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.ceil(view.low / step - 1e-9), math.floor(view.high / step + 1e-9)
    return tuple(Tick(place * step, quantity.tick_text(place * step)) for place in range(first, last + 1))
