"""Checks results against a float64 reference, before any timing and after it.

``Trial`` is what is tried; the candidate's process calls and keeps what was returned; ``Judge`` knows what is
right and needs no call of the implementation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from roofscope.profiling.planning.domain import first_inside, none_inside
from roofscope.profiling.planning.spec import Dtype, KernelSpec, Workload, size_text
from roofscope.profiling.results.outcome import Difference, FailureKind, Verification
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.candidate.messages import Layout
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.inputs import InputMaker, InputSet, as_tuple, widened
from roofscope.profiling.worker.job.compare import judge
from roofscope.profiling.worker.job.link import CandidateFailed
from roofscope.profiling.worker.job.memoization import same_bits


@dataclass(frozen=True)
class Trial:
    """One call that is verified, on inputs up to ``magnitude``."""

    sizes: dict[str, int]
    magnitude: float = 1.0

    @property
    def where(self) -> str:
        beyond = f" with inputs up to {self.magnitude:g}" if self.magnitude != 1.0 else ""
        return f"when tried at {size_text(self.sizes)}{beyond}"


@dataclass(frozen=True)
class Judgement:
    """Of outputs that are right: the worst of all."""

    relative_error: float
    worst_part: float
    largest: Difference | None


class Judge:
    """Knows the right outputs of one workload, of any sizes."""

    def __init__(self, spec: KernelSpec, workload: Workload, reference: Call) -> None:
        self._spec = spec
        self._reference = reference
        self._tolerance = spec.tolerance.of(workload.dtype)
        self._dtypes = output_dtypes(spec, workload)

    def compare(
        self, inputs: InputSet, outputs: tuple[torch.Tensor, ...], sizes: dict[str, int], where: str
    ) -> Judgement:
        """Judge what a call made of these inputs. Raises WrongResult."""
        expected = self._expected(inputs, sizes)
        if len(outputs) != len(expected):
            raise WrongResult(
                FailureKind.WRONG_SHAPE, f"returned {len(outputs)} tensors {where}, not {len(expected)}."
            )
        error, worst, largest = 0.0, 0.0, None
        for tensor, output, right, dtype in zip(
            self._spec.outputs, outputs, expected, self._dtypes, strict=True
        ):
            _require_form(output, right, dtype, where)
            findings, difference = judge(tensor.name, output, right, self._tolerance, where)
            error = max(error, findings.relative_error)
            worst = max(worst, findings.worst.share if findings.worst else 0.0)
            if difference and (largest is None or difference.absolute > largest.absolute):
                largest = difference
        return Judgement(error, worst, largest)

    def _expected(self, inputs: InputSet, sizes: dict[str, int]) -> tuple[torch.Tensor, ...]:
        """The reference's outputs. Raises WrongResult if their shapes contradict spec.py.

        A bad reference would otherwise make a correct implementation look wrong.
        """
        returned = self._reference(*widened(inputs))
        try:
            expected = as_tuple(returned)
        except WrongResult as error:
            raise _bad_reference(str(error)) from None
        shapes = [self._spec.shape(output, sizes) for output in self._spec.outputs]
        found = [tuple(tensor.shape) for tensor in expected]
        if found != shapes:
            raise _bad_reference(f"returned shapes {found} at {size_text(sizes)}, and spec.py says {shapes}.")
        return expected


class Subject(Protocol):
    """What is verified: an implementation, called on inputs that are made for it."""

    def inputs(self, sizes: dict[str, int], magnitude: float) -> InputSet:
        """Fresh ones, valid until the next."""
        ...

    def outputs(self, stains: Sequence[Layout]) -> tuple[torch.Tensor, ...]:
        """What a call on them returns, after ``stains`` were left in free memory. Raises CandidateFailed."""
        ...

    def close(self) -> None:
        """Free the inputs."""
        ...


class Verifier:
    """Checks implementations of one workload against its reference."""

    def __init__(self, spec: KernelSpec, workload: Workload, reference: Call, maker: InputMaker) -> None:
        self._spec = spec
        self._workload = workload
        self._maker = maker
        self._judge = Judge(spec, workload, reference)

    def verify(self, call: Subject, domain: str = "") -> Verification:
        """Measured size, an odd size of its domain and large magnitudes, on fresh inputs. Raises WrongResult.

        An odd size that the implementation does not take is left out, and the verification says so.
        """
        measured = Trial(self._workload.sizes)
        found = self._try(call, measured)
        odd, unverified = self._odd(domain)
        of_odd: Judgement | None = None
        if odd:
            try:
                of_odd = self._try(call, odd, may_refuse=True)
            except _Refused as error:
                odd, unverified = None, f"It refused {size_text(odd.sizes)}: {error}"
        # At the odd size where there is one, because large inputs test the arithmetic and not the indexing.
        large = self._try(call, Trial((odd or measured).sizes, self._spec.large_magnitude))
        call.close()
        all_found = [one for one in (found, of_odd, large) if one]
        return Verification(
            max(one.relative_error for one in (found, of_odd) if one),
            large.relative_error,
            self._spec.tolerance.of(self._workload.dtype),
            shape_count=2 if of_odd else 1,
            largest=found.largest,
            worst_part=max(one.worst_part for one in all_found),
            unverified=unverified,
        )

    def check_again(self, inputs: InputSet, outputs: tuple[torch.Tensor, ...]) -> None:
        """Compare what a timed call wrote with the reference of what its inputs hold now."""
        self._judge.compare(inputs, outputs, self._workload.sizes, "with contents never seen before")

    def _odd(self, domain: str) -> tuple[Trial | None, str]:
        """The odd size to try; None with the reason where its domain has none."""
        choices = self._spec.odd_sizes
        if not domain or not choices:
            return (Trial(choices[0]) if choices else None), ""
        sizes = first_inside(domain, choices, self._workload.dtype)
        return (Trial(sizes), "") if sizes is not None else (None, none_inside(domain, choices))

    def _try(self, call: Subject, trial: Trial, *, may_refuse: bool = False) -> Judgement:
        """Raises WrongResult, what the call raises, and _Refused where that counts as a refusal."""
        inputs = call.inputs(trial.sizes, trial.magnitude)
        before = [tensor.clone() for tensor in inputs]
        try:
            outputs = call.outputs(stains_of(self._spec, self._workload.dtype, trial.sizes))
        except CandidateFailed as error:
            if may_refuse and error.refusal:
                raise _Refused(error.refusal) from None
            raise
        if any(not same_bits(tensor, kept) for tensor, kept in zip(inputs, before, strict=True)):
            raise WrongResult(
                FailureKind.INPUT_CHANGED, f"changed its input {trial.where}; it must not write to it."
            )
        del before
        return self._judge.compare(inputs, outputs, trial.sizes, trial.where)


class _Refused(Exception):
    """The implementation does not take these sizes; the text is what it said."""


def stains_of(spec: KernelSpec, dtype: Dtype, sizes: dict[str, int]) -> list[Layout]:
    """As large as the outputs, so that their memory is likely to be stained."""
    return [Layout(spec.shape(output, sizes), output.element_at(dtype)) for output in spec.outputs]


def output_dtypes(spec: KernelSpec, workload: Workload) -> list[torch.dtype]:
    return [getattr(torch, output.element_at(workload.dtype)) for output in spec.outputs]


def _require_form(output: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype, where: str) -> None:
    """Raises WrongResult."""
    if output.shape != expected.shape:
        raise WrongResult(
            FailureKind.WRONG_SHAPE,
            f"returned shape {tuple(output.shape)} {where}, not {tuple(expected.shape)}.",
        )
    if output.dtype != dtype:
        raise WrongResult(FailureKind.WRONG_DTYPE, f"returned {output.dtype} {where}, not {dtype}.")


def _bad_reference(fault: str) -> WrongResult:
    return WrongResult(FailureKind.BUILD_ERROR, f"cannot be verified: its reference.py {fault}")
