"""Ticks of a logarithmic axis. Positions are log10 of the value."""

import math

from msgspec import Struct

from roofscope.app.presentation.formatting import tick_text
from roofscope.app.presentation.roofline.geometry import View
from roofscope.app.presentation.roofline.scene import ChartScene

_ONE_TWO_FIVE = tuple(math.log10(value) for value in (1, 2, 5))
_ALL_DIGITS = tuple(math.log10(value) for value in range(1, 10))
_ENOUGH = 3  # labels from which an axis can be read


class Tick(Struct, frozen=True):
    """A tick without a label is a minor one."""

    position: float
    label: str = ""


def log_ticks(low: float, high: float, label_count: int = 12) -> tuple[Tick, ...]:
    """Ticks between two log10 values, at most about ``label_count`` of them labelled.

    Whole decades while three of them show; else 1-2-5, then every digit, then even steps.
    """
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return ()
    decades = _repeated((0.0,), low, high)
    minor = _repeated(_ALL_DIGITS, low, high) if high - low <= 10 else ()
    if len(decades) >= _ENOUGH:
        stride = math.ceil(len(decades) / max(2, label_count))
        labelled = [position for position in decades if round(position) % stride == 0]
        return _merged(labelled, (*decades, *minor))
    for digits in (_ONE_TWO_FIVE, _ALL_DIGITS):
        labelled = _repeated(digits, low, high)
        if len(labelled) >= _ENOUGH:
            return _merged(labelled, minor)
    return _merged(_even_steps(low, high), ())


def share_ticks(low: float, high: float, label_count: int = 12) -> tuple[Tick, ...]:
    """Ticks of a level axis of shares, labelled in per cent: even steps, from nothing on."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return ()
    rough = (high - low) / max(2, label_count)
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = max(0, math.ceil(low / step - 1e-9)), math.floor(high / step + 1e-9)
    return tuple(Tick(index * step, f"{100 * index * step:.6g} %") for index in range(first, last + 1))


def x_ticks(view: View) -> tuple[Tick, ...]:
    return log_ticks(view.x.low, view.x.high, int(view.box.width / 70))


def y_ticks(scene: ChartScene, view: View) -> tuple[Tick, ...]:
    make = share_ticks if scene.is_of_roof else log_ticks
    return make(view.y.low, view.y.high, int(view.box.height / 36))


def _repeated(offsets: tuple[float, ...], low: float, high: float) -> tuple[float, ...]:
    return tuple(
        decade + offset
        for decade in range(math.floor(low), math.ceil(high) + 1)
        for offset in offsets
        if low - 1e-9 <= decade + offset <= high + 1e-9
    )


def _even_steps(low: float, high: float) -> list[float]:
    """Even steps of 1, 2 or 5 times a power of ten, about four of them."""
    first, last = 10**low, 10**high
    rough = (last - first) / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    count = range(math.ceil(first / step), math.floor(last / step) + 1)
    return [math.log10(index * step) for index in count if index > 0]


def _merged(labelled: list[float] | tuple[float, ...], minor: tuple[float, ...]) -> tuple[Tick, ...]:
    ticks = {round(position, 6): Tick(position) for position in minor}
    ticks.update({round(position, 6): Tick(position, tick_text(position)) for position in labelled})
    return tuple(ticks[key] for key in sorted(ticks))
