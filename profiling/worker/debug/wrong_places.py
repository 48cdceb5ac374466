"""Where the wrong elements of an output lie: as a pattern, which often names the mistake."""

from typing import Any

import numpy as np

from roofscope.profiling.results.debugging import Pattern, PatternKind

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Values = np.ndarray[Any, np.dtype[np.float64]]

_NEARLY = 0.9  # of the elements in question: a wrong one may be right by chance
_MOST = 0.5
_LEAST_STEPS = 3


def pattern_of(wrong: Mask, found: Values, expected: Values, tolerance: float) -> Pattern:
    """``tolerance`` is relative. The three have one shape."""
    count = int(wrong.sum())
    if not count:
        return Pattern(PatternKind.NONE)
    if count > _MOST * wrong.size:
        whole = _of_whole(found, expected, tolerance)
        if whole:
            return whole
    if count >= 0.98 * wrong.size:
        return Pattern(PatternKind.ALL)
    return place_of(wrong)


def place_of(wrong: Mask) -> Pattern:
    """Which indices along one axis, or in the order of memory (axis -1), are wrong."""
    if not wrong.any():
        return Pattern(PatternKind.NONE)
    if wrong.all():
        return Pattern(PatternKind.ALL)
    found: list[tuple[float, Pattern]] = []
    for axis in range(wrong.ndim):
        others = tuple(one for one in range(wrong.ndim) if one != axis)
        lines: Mask = np.asarray(wrong.any(axis=others)) if others else wrong
        share = wrong.sum() / (lines.sum() * (wrong.size // len(lines)))
        if share >= _NEARLY and not lines.all():
            found.append((float(lines.mean()), _of_line(lines, axis)))
    named = [one for one in found if one[1].kind is not PatternKind.SCATTERED]
    if named:
        return min(named, key=lambda one: one[0])[1]
    if wrong.ndim > 1:
        flat = _of_line(wrong.reshape(-1), -1)
        if flat.kind in (PatternKind.FROM, PatternKind.UNTIL):
            return flat
    return Pattern(PatternKind.SCATTERED)


def _of_line(lines: Mask, axis: int) -> Pattern:
    at = np.flatnonzero(lines)
    first, last, count = int(at[0]), int(at[-1]), len(at)
    if count >= _NEARLY * (last - first + 1):
        if last == len(lines) - 1:
            return Pattern(PatternKind.FROM, axis, first, last)
        if first == 0:
            return Pattern(PatternKind.UNTIL, axis, first, last)
        return Pattern(PatternKind.RANGE, axis, first, last)
    steps = np.diff(at)
    step = int(np.median(steps)) if len(steps) else 0
    if step > 1 and count >= _LEAST_STEPS and float((steps == step).mean()) >= _NEARLY:
        return Pattern(PatternKind.STEPS, axis, first, last, step)
    return Pattern(PatternKind.SCATTERED, axis)


def _of_whole(found: Values, expected: Values, tolerance: float) -> Pattern | None:
    """One factor, one summand, or another order of the elements."""
    finite = np.isfinite(found) & np.isfinite(expected)
    if finite.mean() < _NEARLY:
        return None
    rms = float(np.sqrt(np.mean(expected[finite] ** 2))) or 1.0
    room = max(10 * tolerance, 1e-3)
    large = finite & (np.abs(expected) > 0.05 * rms)
    if large.any():
        factor = float(np.median(found[large] / expected[large]))
        if abs(factor - 1) > room and _is_near(
            found, factor * expected, finite, room * rms * max(abs(factor), 0.1)
        ):
            return Pattern(PatternKind.SCALED, factor=factor)
    summand = float(np.median(found[finite] - expected[finite]))
    if abs(summand) > room * rms and _is_near(found, expected + summand, finite, room * abs(summand)):
        return Pattern(PatternKind.SHIFTED, factor=summand)
    if found.ndim >= 2 and min(found.shape[-2:]) > 1:
        turned = np.swapaxes(expected, -1, -2).reshape(found.shape)
        tall = (*found.shape[:-2], found.shape[-1], found.shape[-2])
        other = np.swapaxes(found.reshape(tall), -1, -2)
        if any(_is_near(one, like, finite, room * rms) for one, like in ((found, turned), (other, expected))):
            return Pattern(PatternKind.TRANSPOSED)
    return None


def _is_near(one: Values, other: Values, chosen: Mask, within: float) -> bool:
    near = np.abs(one - other)[chosen] <= within
    return bool(near.mean() >= 0.99)
