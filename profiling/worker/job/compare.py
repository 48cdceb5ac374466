"""Judges outputs against a float64 reference, on plain tensors: nothing here calls an implementation.

The spec's tolerance bounds the error of a whole output. A norm over millions of elements hides a row or a
tile that is wrong, so each row (last dimension), each chunk of 4096 consecutive elements and each element is
judged as well. Of n elements with the same mean error the largest norms lie above the mean by a share that
falls with the root of n; hence the limit of a part. Where a part of the reference is small, the output's root
mean square takes its place: rounding of what was summed up is no smaller there. So does that of the 4096
elements around a row or an element, where it is larger: gradients of causal attention are ten times larger in
the first rows than in others, and so is the rounding of what cancels out there. Integers are judged by chunks
only: of values that lie between two integers a few are rounded the other way, each by a whole step.

The two numbers of the limit were chosen by `benchmarks/part_errors.py` (docs/measuring.md has its findings).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from roofscope.profiling.results.outcome import Difference, FailureKind
from roofscope.profiling.worker.failures import WrongResult

CHUNK = 4096
_SLICE = 1 << 24  # elements compared at once: 128 MiB in float64
_STEADY, _SPREAD = 2.0, 14.0  # of many elements, and what is added for one


def part_limit(tolerance: float, count: int) -> float:
    """The largest relative error accepted of a part of ``count`` elements."""
    return tolerance * (_STEADY + _SPREAD / math.sqrt(count))


@dataclass(frozen=True)
class Part:
    """Consecutive elements of a flat output.

    ``error`` is the norm of their difference over their norm in the reference, or over what the root mean
    square of the output, or of the chunk around it, gives as many elements, if that is larger. ``share`` is
    that error over its limit: above 1 it is refused.
    """

    start: int
    count: int
    error: float
    share: float


@dataclass(frozen=True)
class Findings:
    """How one output differs from its reference. Indices are flat.

    ``stray``: the first element that is NaN or infinite where the reference is not, or the other way round;
    nothing else is known then.
    """

    relative_error: float = 0.0
    worst: Part | None = None
    largest: int | None = None
    stray: int | None = None


def examine(output: torch.Tensor, expected: torch.Tensor, tolerance: float) -> Findings:
    """Compare two tensors of one shape, by slices: a float64 copy of a large one is gigabytes."""
    if not output.numel():
        return Findings()
    row = expected.shape[-1] if expected.dim() else 1
    # Elements in their order; a copy only where the tensor has another layout.
    found, wanted = output.contiguous().view(-1), expected.contiguous().view(-1)
    slices = tuple(_slices(len(wanted), row))
    norm = math.hypot(*(_norm_of_finite(_floating(wanted[a:b])) for a, b in slices))
    # Where all of the reference is 0, the absolute norm is judged.
    scale = norm or 1.0
    norms: list[float] = []
    worst: Part | None = None
    largest, largest_difference = 0, -1.0
    for start, end in slices:
        right = _floating(wanted[start:end])
        part = _Slice(found[start:end], right, tolerance, scale / math.sqrt(len(wanted)), row)
        if part.stray is not None:
            return Findings(stray=start + part.stray)
        norms.append(part.norm)
        if worst is None or part.worst.share > worst.share:
            worst = replace(part.worst, start=start + part.worst.start)
        if part.largest_difference > largest_difference:
            largest, largest_difference = start + part.largest, part.largest_difference
    return Findings(math.hypot(*norms) / scale, worst, largest)


class _Slice:
    """What one slice has: the norm of its difference, its worst part and its largest element.

    Where ``stray`` is an element, there is nothing else.
    """

    def __init__(
        self, found: torch.Tensor, wanted: torch.Tensor, tolerance: float, rms: float, row: int
    ) -> None:
        self._tolerance, self._rms = tolerance, rms
        # Rows longer than a slice are judged in pieces.
        sizes = sorted({min(size, len(wanted)) for size in (row, CHUNK)})
        difference = _difference(found, wanted)
        errors, scales = _GroupNorms(difference, sizes), _GroupNorms(wanted, sizes)
        self.stray: int | None = None
        if not (errors.are_finite and scales.are_finite):
            self.stray = _stray(found, wanted)
            if self.stray is not None:
                return
            difference.masked_fill_(~torch.isfinite(wanted), 0)
            wanted = _finite(wanted)
            errors, scales = _GroupNorms(difference, sizes), _GroupNorms(wanted, sizes)
        self.norm = errors.norm
        self._chunk = min(CHUNK, len(wanted))
        self._near = scales.root_mean_squares(self._chunk).clamp_(min=rms)
        judged = sizes if found.is_floating_point() else [min(CHUNK, len(wanted))]
        parts = [part for size in judged for part in self._worst_of(errors, scales, size)]
        self.worst = max(parts, key=lambda part: part.share)
        self.largest_difference, self.largest = _largest(difference.abs_())
        # Against the root mean square alone it has the largest share; one below what is known needs no more.
        most = self.largest_difference / rms / part_limit(tolerance, 1)
        if found.is_floating_point() and most > self.worst.share:
            near = self._near.repeat_interleave(self._chunk)[: len(wanted)]
            error, at = _largest(difference.div_(torch.maximum(wanted.abs(), near)))
            self.worst = max(self.worst, self._part(at, 1, error), key=lambda part: part.share)

    def _worst_of(self, errors: "_GroupNorms", scales: "_GroupNorms", size: int) -> Iterator[Part]:
        """The worst of the whole groups of this size, and the tail, which is shorter."""
        starts = torch.arange(0, errors.count, size, device=self._near.device)
        floors = self._around(starts, size) * math.sqrt(size)
        whole = scales.whole[size]
        error, at = _largest(errors.whole[size] / torch.maximum(whole, floors[: len(whole)]))
        yield self._part(at * size, size, error)
        start, norm = errors.tail[size]
        if count := errors.count - start:
            scale = max(scales.tail[size][1], float(floors[-1]) * math.sqrt(count / size))
            yield self._part(start, count, norm / scale)

    def _around(self, starts: torch.Tensor, size: int) -> torch.Tensor:
        """The least that each part of this size counts as, an element, by the chunk around it."""
        if size >= self._chunk:
            return torch.full(starts.shape, self._rms, dtype=self._near.dtype, device=starts.device)
        last = (starts + size - 1).clamp_(max=self._chunk * len(self._near) - 1)
        return torch.maximum(self._near[starts // self._chunk], self._near[last // self._chunk])

    def _part(self, start: int, count: int, error: float) -> Part:
        return Part(start, count, error, error / part_limit(self._tolerance, count))


class _GroupNorms:
    """Norms of consecutive groups of a few sizes, the smallest first, and of each size's shorter tail."""

    def __init__(self, values: torch.Tensor, sizes: Sequence[int]) -> None:
        self.count = len(values)
        self.whole: dict[int, torch.Tensor] = {}
        self.tail: dict[int, tuple[int, float]] = {}  # where it starts, and its norm
        for size in sizes:
            count = len(values) // size
            # Norms of smaller groups that fill larger ones spare a pass over all elements.
            finer = next((known for known in self.whole if size % known == 0), None)
            parts, width = (self.whole[finer], size // finer) if finer else (values, size)
            self.whole[size] = torch.linalg.vector_norm(parts[: count * width].view(count, width), dim=1)
            self.tail[size] = count * size, _norm(values[count * size :])
        self.norm = math.hypot(_norm(self.whole[sizes[0]]), self.tail[sizes[0]][1])

    @property
    def are_finite(self) -> bool:
        return math.isfinite(self.norm)

    def root_mean_squares(self, size: int) -> torch.Tensor:
        """Of each group of this size, the tail last."""
        start, norm = self.tail[size]
        whole = self.whole[size] / math.sqrt(size)
        return torch.cat((whole, whole.new_tensor([norm / math.sqrt(max(self.count - start, 1))])))


def judge(
    name: str, output: torch.Tensor, expected: torch.Tensor, tolerance: float, where: str
) -> tuple[Findings, Difference | None]:
    """What was found of an output, and its largest difference. Raises WrongResult with what is wrong."""
    findings = examine(output, expected, tolerance)

    def at(flat: int) -> Difference:
        index = _index_of(flat, expected.shape)
        return Difference(name, index, float(output[index]), float(expected[index]))

    if findings.stray is not None:
        stray = at(findings.stray)
        instead = f"{_number(stray.found)} instead of {_number(stray.expected)}"
        raise _wrong(f"returned {instead} at {stray.place} {where}.")
    largest = at(findings.largest) if findings.largest is not None else None
    if largest and findings.relative_error > tolerance:
        raise _wrong(
            f"is off by {findings.relative_error:.2g} {where}, more than the tolerance of {tolerance:.2g}; "
            f"{_farthest(largest)}."
        )
    worst = findings.worst
    if worst and worst.share > 1:
        limit = part_limit(tolerance, worst.count)
        inside = at(worst.start + _largest_within(output, expected, worst))
        raise _wrong(
            f"is off by {worst.error:.2g} in {_name(worst, name, expected.shape)} {where}, more than the "
            f"{limit:.2g} allowed there, while the whole is within its tolerance; {_farthest(inside)}."
        )
    return findings, largest


def _index_of(flat: int, shape: torch.Size) -> tuple[int, ...]:
    """By NumPy: torch's function imports SymPy at its first call, which takes up to two seconds."""
    return tuple(int(i) for i in np.unravel_index(flat, shape))


def _farthest(difference: Difference) -> str:
    found, expected = _number(difference.found), _number(difference.expected)
    return f"the farthest is {difference.place}: {found} instead of {expected}"


def _name(part: Part, output: str, shape: torch.Size) -> str:
    """``row 17 of output y``, ``elements 0 to 4095 of output y``."""
    last = part.start + part.count - 1
    if part.count == 1:
        return f"element {part.start} of output {output}"
    if len(shape) > 1 and part.count == shape[-1] and part.start % part.count == 0:
        row = _index_of(part.start // part.count, shape[:-1])
        return f"row {row[0] if len(row) == 1 else row} of output {output}"
    return f"elements {part.start} to {last} of output {output}"


def _slices(count: int, row: int) -> Iterator[tuple[int, int]]:
    """Whole rows, as many as a slice has room for; pieces of a row that is longer."""
    step, span = (_SLICE // row * row, count) if row <= _SLICE else (_SLICE, row)
    for first in range(0, count, span):
        end = min(first + span, count)
        yield from ((a, min(a + step, end)) for a in range(first, end, step))


def _stray(found: torch.Tensor, wanted: torch.Tensor) -> int | None:
    """The first element that is not finite where it should be, or not as the reference is not."""
    wide = found.double()
    alike = (wide == wanted) | (wide.isnan() & wanted.isnan())
    wrong = torch.where(torch.isfinite(wanted), ~torch.isfinite(wide), ~alike)
    return int(wrong.to(torch.uint8).argmax()) if bool(wrong.any()) else None


def _floating(wanted: torch.Tensor) -> torch.Tensor:
    """A user's reference may give integers or truth values, of which torch takes no norm."""
    return wanted if wanted.is_floating_point() else wanted.double()


def _finite(wanted: torch.Tensor) -> torch.Tensor:
    """The reference with 0 in place of NaN and infinity, which are compared by themselves."""
    return wanted.masked_fill(~torch.isfinite(wanted), 0)


def _norm_of_finite(wanted: torch.Tensor) -> float:
    norm = _norm(wanted)
    return norm if math.isfinite(norm) else _norm(_finite(wanted))


def _largest_within(output: torch.Tensor, expected: torch.Tensor, part: Part) -> int:
    """Of a part, from its start."""
    a, b = part.start, part.start + part.count
    found, wanted = output.contiguous().view(-1)[a:b], expected.contiguous().view(-1)[a:b]
    difference = _difference(found, wanted).masked_fill_(~torch.isfinite(wanted), 0)
    return _largest(difference.abs_())[1]


def _difference(found: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """In place on one copy, because each float64 temporary is large."""
    return found.to(torch.float64, copy=True).sub_(wanted)


def _largest(values: torch.Tensor) -> tuple[float, int]:
    value, at = values.max(dim=0)
    return float(value), int(at)


def _norm(values: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(values))


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.6g}".replace("inf", "infinity")


def _wrong(text: str) -> WrongResult:
    return WrongResult(FailureKind.WRONG_VALUES, text)
