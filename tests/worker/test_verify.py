"""One workload's trials: which sizes are tried, and what is said of those that are not."""

from collections.abc import Callable, Sequence

import msgspec
import pytest
import torch

from roofscope.profiling.planning.spec import (
    Axis,
    Dtype,
    KernelSpec,
    TensorSpec,
    Tolerance,
    WorkFormula,
    Workload,
)
from roofscope.profiling.results.outcome import Failed, FailureKind, Stage, Verification
from roofscope.profiling.worker.candidate.messages import Layout, Trouble
from roofscope.profiling.worker.candidate.snapshot import poison, snapshot
from roofscope.profiling.worker.failures import Refusal, WrongResult
from roofscope.profiling.worker.inputs import InputMaker, InputSet, as_tuple
from roofscope.profiling.worker.job.link import CandidateFailed
from roofscope.profiling.worker.job.verify import Verifier

SPEC = KernelSpec(
    name="double",
    title="double",
    formula="y = 2x",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula("n", "n*s", "n*s"),
    tolerance=Tolerance(1e-6, 1e-3, 8e-3),
    presets=(),
    odd_sizes=({"n": 37}, {"n": 48}, {"n": 0}),
    large_magnitude=100.0,
)
Run = Callable[[torch.Tensor], torch.Tensor]


def verify(run: Run, domain: str = "", spec: KernelSpec = SPEC, n: int = 4096) -> Verification:
    workload = Workload("double", Dtype.BFLOAT16, {"n": n})
    maker = InputMaker(spec, Dtype.BFLOAT16, torch.device("cpu"), seed=1)
    return Verifier(spec, workload, lambda x: x * 2, maker).verify(Local(run, maker), domain)


class Local:
    """An implementation that is called in this process, and fails as one of another process does."""

    def __init__(self, run: Run, maker: InputMaker) -> None:
        self._run, self._maker = run, maker
        self._inputs: InputSet = ()

    def inputs(self, sizes: dict[str, int], magnitude: float) -> InputSet:
        self._inputs = self._maker.make(sizes, magnitude)
        return self._inputs

    def outputs(self, stains: Sequence[Layout]) -> tuple[torch.Tensor, ...]:
        poison(stains, self._maker.device)
        try:
            return snapshot(self._inputs, as_tuple(self._run(*self._inputs)))
        except (Refusal, ValueError, AssertionError) as error:
            failed = Failed(FailureKind.LAUNCH_ERROR, Stage.VERIFY, str(error))
            raise CandidateFailed(Trouble(failed, True, False, str(error))) from error

    def close(self) -> None:
        pass


class Noted:
    """``2x``, with the size of each call and whether it was a large one; ``refuses`` says what it raises."""

    def __init__(self, refuses: Callable[[torch.Tensor], Exception | None] = lambda _: None) -> None:
        self.calls: list[tuple[int, bool]] = []
        self._refuses = refuses

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.append((len(x), bool((x.abs() > 1).any())))
        if error := self._refuses(x):
            raise error
        return x * 2


def test_an_honest_version_has_its_largest_difference_and_worst_part() -> None:
    run = Noted()
    found = verify(run)
    assert run.calls == [(4096, False), (37, False), (37, True)]
    assert (found.shape_count, found.unverified) == (2, "")
    assert found.relative_error == 0
    assert found.worst_part == 0
    assert found.largest is not None
    assert (found.largest.output, found.largest.absolute) == ("y", 0)


def test_the_largest_difference_is_that_of_the_measured_size() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y[3] *= 1 + 2**-7
        return y

    largest = verify(run).largest
    assert largest is not None
    assert largest.index == (3,)
    assert largest.place == "element 3 of output y"
    assert largest.found / largest.expected == pytest.approx(1 + 2**-7, rel=2**-8)


@pytest.mark.parametrize("kind", [Refusal, ValueError, AssertionError])
def test_a_version_that_refuses_the_odd_size_only_is_verified_at_its_own(kind: type[Exception]) -> None:
    run = Noted(lambda x: kind("takes multiples of 16.") if len(x) % 16 else None)
    found = verify(run)
    assert run.calls == [(4096, False), (37, False), (4096, True)]
    assert found.unverified == "It refused n=37: takes multiples of 16."
    assert found.shape_count == 1


def test_other_errors_at_the_odd_size_and_refusals_elsewhere_are_raised() -> None:
    with pytest.raises(RuntimeError, match="illegal"):
        verify(Noted(lambda x: RuntimeError("illegal access") if len(x) == 37 else None))
    with pytest.raises(CandidateFailed, match="never"):
        verify(Noted(lambda _: ValueError("never")))
    with pytest.raises(CandidateFailed, match="large"):
        verify(Noted(lambda x: ValueError("large") if (x.abs() > 1).any() else None))


def test_the_odd_size_is_one_of_the_domain() -> None:
    run = Noted()
    found = verify(run, "n % 16 == 0 and n > 0")
    assert run.calls == [(4096, False), (48, False), (48, True)]
    assert found.unverified == ""
    run = Noted()
    found = verify(run, "n >= 64")
    assert run.calls == [(4096, False), (4096, True)]
    assert found.unverified == "No odd size of the spec is in its domain n >= 64, not even n=37."


def test_a_spec_without_odd_sizes_leaves_nothing_to_say() -> None:
    assert verify(Noted(), "n > 0", msgspec.structs.replace(SPEC, odd_sizes=())).unverified == ""


def test_one_wrong_chunk_is_refused_before_any_timing() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        if len(y) > 100:
            y[-30:] = 0
        return y

    with pytest.raises(WrongResult, match="while the whole is within its tolerance") as caught:
        verify(run, n=1 << 20)
    assert caught.value.kind is FailureKind.WRONG_VALUES


def test_what_a_timed_call_wrote_is_judged_alike() -> None:
    """A timed call may give back its input as little as one that is not timed."""
    workload = Workload("double", Dtype.BFLOAT16, {"n": 64})
    maker = InputMaker(SPEC, Dtype.BFLOAT16, torch.device("cpu"), seed=1)
    verifier = Verifier(SPEC, workload, lambda x: x * 2, maker)
    inputs = maker.make(workload.sizes)
    verifier.check_again(inputs, (inputs[0] * 2,))
    with pytest.raises(WrongResult, match="with contents never seen before"):
        verifier.check_again(inputs, (inputs[0] * 3,))
