"""An output beside its float64 reference: how many elements are wrong, where they lie, and a small map of it.

Right or wrong is decided as the referee does (`job/compare.py`); the map says how far each element is off.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import torch

from roofscope.profiling.results.debugging import Compared, ErrorMap, Line, Pattern, PatternKind, StageName
from roofscope.profiling.results.outcome import Difference
from roofscope.profiling.worker.debug.fresh_memory import is_poison
from roofscope.profiling.worker.debug.wrong_places import pattern_of, place_of
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.job.compare import examine, judge, part_limit

MOST_ROWS, MOST_COLUMNS = 32, 64
UNWRITTEN, NOT_FINITE, OUTSIDE = -1.0, -2.0, -3.0
_MOST_SHARE = 1e12


def compared(
    stage: StageName,
    name: str,
    output: torch.Tensor,
    expected: torch.Tensor,
    wanted: torch.dtype,
    tolerance: float,
    made: Line | None = None,
) -> Compared:
    """What is wrong with one output, in the process that has it."""
    shape, wanted_shape = tuple(output.shape), tuple(expected.shape)
    element, wanted_element = (str(one).removeprefix("torch.") for one in (output.dtype, wanted))
    if shape != wanted_shape or not output.numel():
        return Compared(stage, name, shape, element, wanted_shape, wanted_element, made=made)
    unwritten = is_poison(output).cpu().numpy().reshape(shape)
    is_wrong = bool(unwritten.any())
    relative: float | None = None
    largest: Difference | None = None
    try:
        findings, largest = judge(name, output, expected, tolerance, "")
        relative = findings.relative_error
    except WrongResult:
        is_wrong = True
    found = output.detach().double().cpu().numpy()
    right = expected.detach().double().cpu().numpy()
    shares = _shares(found, right, tolerance, is_float=output.is_floating_point())
    wrong = (shares > 1) | ~np.isfinite(shares) | unwritten if is_wrong else np.zeros(shape, bool)
    if is_wrong and not wrong.any():  # each within what one element may be off, the whole not
        shares = shares * (part_limit(tolerance, 1) / tolerance)
        wrong = shares > 1
    if relative is None:
        relative = _relative(output, expected, tolerance)
    if is_wrong:
        largest = _largest(name, shares, found, right, unwritten)
    values = np.where(unwritten, np.nan, found)
    pattern = pattern_of(wrong, values, right, tolerance) if is_wrong else Pattern(PatternKind.NONE)
    return Compared(
        stage,
        name,
        shape,
        element,
        wanted_shape,
        wanted_element,
        count=found.size,
        wrong=int(wrong.sum()),
        unwritten=int(unwritten.sum()),
        not_finite=int((~np.isfinite(found) & np.isfinite(right) & ~unwritten).sum()),
        relative_error=relative,
        tolerance=tolerance,
        largest=largest,
        pattern=pattern,
        unwritten_pattern=place_of(unwritten),
        map=map_of(shares, unwritten, found, right),
        made=made,
    )


def _relative(output: torch.Tensor, expected: torch.Tensor, tolerance: float) -> float | None:
    findings = examine(output, expected, tolerance)
    return None if findings.stray is not None else findings.relative_error


def _shares(found: Any, right: Any, tolerance: float, *, is_float: bool) -> Any:
    """Each element's error over what one element may be off; infinite where it is not a number."""
    with np.errstate(invalid="ignore", over="ignore"):
        finite = right[np.isfinite(right)]
        rms = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
        scale = np.maximum(np.abs(right), rms or 1.0)
        limit = part_limit(tolerance, 1) if is_float else max(part_limit(tolerance, 1), 1.0 / (rms or 1.0))
        shares = np.abs(found - right) / scale / limit
    alike = (found == right) | (np.isnan(found) & np.isnan(right))
    shares = np.where(alike, 0.0, shares)
    return np.where(np.isnan(shares), np.inf, shares)


def _largest(name: str, shares: Any, found: Any, right: Any, unwritten: Any) -> Difference | None:
    finite = np.isfinite(shares) & (shares > 1) & ~unwritten
    if not finite.any():
        return None
    at = int(np.where(finite, shares, -1.0).argmax())
    index = tuple(int(one) for one in np.unravel_index(at, shares.shape))
    return Difference(name, index, float(found.flat[at]), float(right.flat[at]))


def map_of(shares: Any, unwritten: Any, found: Any, right: Any) -> ErrorMap:
    """At most 32 rows of 64 cells. One dimension runs as text does; of several the last is across."""
    shape = shares.shape
    marks = np.where(unwritten, np.inf, shares).reshape(-1)
    cells: list[Any] = []  # the flat indices of each
    if shares.ndim > 1 and shape[-1] > 1:
        wide = shape[-1]
        tall = shares.size // wide
        rows, columns = min(MOST_ROWS, tall), min(MOST_COLUMNS, wide)
        for top, bottom in _edges(tall, rows):
            lines = np.arange(top, bottom)[:, None] * wide
            cells += [(lines + np.arange(left, end)).reshape(-1) for left, end in _edges(wide, columns)]
    else:
        chunk = -(-shares.size // (MOST_ROWS * MOST_COLUMNS))
        starts = range(0, shares.size, chunk)
        cells = [np.arange(start, min(start + chunk, shares.size)) for start in starts]
        columns = min(MOST_COLUMNS, len(cells))
        rows = -(-len(cells) // columns)
        cells += [None] * (rows * columns - len(cells))
    read = [_cell(marks, unwritten, found, right, shape, flat) for flat in cells]
    shares, indices, values, wanted = zip(*read, strict=True)
    return ErrorMap(rows, columns, shares, indices, values, wanted)


def _cell(
    marks: Any, unwritten: Any, found: Any, right: Any, shape: tuple[int, ...], flat: Any
) -> tuple[float, tuple[int, ...], float | None, float | None]:
    """The worst element of a cell: its share, its index, and both values."""
    if flat is None:
        return OUTSIDE, (), None, None
    at = int(flat[marks[flat].argmax()])
    if unwritten.flat[at]:
        share = UNWRITTEN
    elif not np.isfinite(marks[at]):
        share = NOT_FINITE
    else:
        share = min(float(marks[at]), _MOST_SHARE)
    index = tuple(int(one) for one in np.unravel_index(at, shape))
    return share, index, _finite(float(found.flat[at])), _finite(float(right.flat[at]))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _edges(size: int, parts: int) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in pairwise(np.linspace(0, size, parts + 1).astype(int))]
