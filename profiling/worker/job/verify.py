"""Checks results against a float64 reference, before any timing and after it."""

import math

import torch

from roofscope.profiling.planning.spec import KernelSpec, Workload, size_text
from roofscope.profiling.results.outcome import FailureKind, Verification
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.candidate.messages import Layout
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.inputs import InputMaker, InputSet, as_tuple, widened
from roofscope.profiling.worker.job.link import RemoteCall
from roofscope.profiling.worker.job.memoization import same_bits


class Verifier:
    """Checks implementations of one workload against its reference."""

    def __init__(self, spec: KernelSpec, workload: Workload, reference: Call, maker: InputMaker) -> None:
        self._spec = spec
        self._workload = workload
        self._reference = reference
        self._maker = maker
        self._tolerance = spec.tolerance.of(workload.dtype)
        self._dtypes: list[torch.dtype] = [
            getattr(torch, output.element_at(workload.dtype)) for output in spec.outputs
        ]

    def verify(self, call: RemoteCall) -> Verification:
        """Measured size, one odd size and large magnitudes, on fresh inputs. Raises WrongResult."""
        sizes, odd = self._workload.sizes, self._spec.odd_sizes[:1]
        errors = [self._error_at(call, choice, 1.0) for choice in (sizes, *odd)]
        # At the odd size where there is one, because large inputs test the arithmetic and not the indexing.
        large = self._error_at(call, odd[0] if odd else sizes, self._spec.large_magnitude)
        call.close()
        return Verification(max(errors), large, self._tolerance, shape_count=len(errors))

    def check_again(self, inputs: InputSet, outputs: tuple[torch.Tensor, ...]) -> None:
        """Compare what a timed call wrote with the reference of what its inputs hold now."""
        self._compare(inputs, outputs, self._workload.sizes, "with contents never seen before")

    def _error_at(self, call: RemoteCall, sizes: dict[str, int], magnitude: float) -> float:
        inputs = call.inputs(sizes, magnitude)
        label = size_text(sizes)
        if magnitude != 1.0:
            label += f" with inputs up to {magnitude:g}"
        before = [tensor.clone() for tensor in inputs]
        outputs = call.outputs(self._stains(sizes))
        if any(not same_bits(tensor, kept) for tensor, kept in zip(inputs, before, strict=True)):
            raise WrongResult(
                FailureKind.INPUT_CHANGED, f"changed its input at {label}; it must not write to it."
            )
        del before
        return self._compare(inputs, outputs, sizes, f"at {label}")

    def _stains(self, sizes: dict[str, int]) -> list[Layout]:
        """As large as the outputs, so that their memory is likely to be stained."""
        return [
            Layout(self._spec.shape(output, sizes), output.element_at(self._workload.dtype))
            for output in self._spec.outputs
        ]

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

    def _compare(
        self, inputs: InputSet, outputs: tuple[torch.Tensor, ...], sizes: dict[str, int], where: str
    ) -> float:
        expected = self._expected(inputs, sizes)
        if len(outputs) != len(expected):
            raise WrongResult(
                FailureKind.WRONG_SHAPE, f"returned {len(outputs)} tensors {where}, not {len(expected)}."
            )
        return max(
            self._relative_error(output, reference, dtype, where)
            for output, reference, dtype in zip(outputs, expected, self._dtypes, strict=True)
        )

    def _relative_error(
        self, output: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype, where: str
    ) -> float:
        if output.shape != expected.shape:
            raise WrongResult(
                FailureKind.WRONG_SHAPE,
                f"returned shape {tuple(output.shape)} {where}, not {tuple(expected.shape)}.",
            )
        if output.dtype != dtype:
            raise WrongResult(FailureKind.WRONG_DTYPE, f"returned {output.dtype} {where}, not {dtype}.")
        error = relative_error(output, expected)
        if error is None:
            raise WrongResult(
                FailureKind.WRONG_VALUES, f"returned NaN or infinity {where}, where the result is finite."
            )
        if error > self._tolerance:
            raise WrongResult(
                FailureKind.WRONG_VALUES,
                f"is off by {error:.2g} {where}, more than the tolerance of {self._tolerance:.2g}.",
            )
        return error


def _bad_reference(fault: str) -> WrongResult:
    return WrongResult(FailureKind.BUILD_ERROR, f"cannot be verified: its reference.py {fault}")


def relative_error(output: torch.Tensor, expected: torch.Tensor) -> float | None:
    """norm(output - expected) / norm(expected) in float64; None where the output is not finite.

    0 for empty tensors; the absolute norm where the expected norm is 0.
    """
    if output.numel() == 0:
        return 0.0
    # In place on the one copy, because at large sizes each float64 temporary is gigabytes.
    difference = torch.linalg.vector_norm(output.double().sub_(expected)).item()
    if not math.isfinite(difference):
        return None
    norm = torch.linalg.vector_norm(expected).item()
    return difference / norm if norm else difference
