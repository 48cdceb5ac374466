"""What both ways of running share: the inputs, the reference, the verdict on each output."""

import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch

from roofscope.profiling.planning.debug_question import SEED, DebugQuestion
from roofscope.profiling.results.debugging import (
    Compared,
    DebugStage,
    InputChanged,
    Line,
    Raised,
    Said,
    Seen,
    StageEnd,
    StageName,
)
from roofscope.profiling.results.outcome import FailureKind
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.debug.error_map import compared
from roofscope.profiling.worker.debug.fresh_memory import FreshMemory
from roofscope.profiling.worker.debug.user_lines import UserLines
from roofscope.profiling.worker.failures import BuildError, Refusal, WrongResult, bounded, first_line
from roofscope.profiling.worker.inputs import InputMaker, InputSet, as_tuple, widened
from roofscope.profiling.worker.job.memoization import same_bits
from roofscope.profiling.worker.job.reference import load_reference
from roofscope.profiling.worker.job.verify import output_dtypes

Say = Callable[[Said], None]


class Subject:
    """The implementation of a question, with what it is run on."""

    def __init__(self, question: DebugQuestion, device: torch.device, stage: StageName) -> None:
        self.question = question
        self.device = device
        self.stage = stage
        kernel = question.kernel
        own = [Path(entry.file) for entry in question.entries.values()]
        self.lines = UserLines([Path(question.folder) / "spec.py", *own])
        self._reference, derive = load_reference(kernel)
        maker = InputMaker(
            question.spec, question.workload.dtype, device, SEED, derive, question.workload.fill
        )
        self.inputs: InputSet = maker.make(question.workload.sizes)
        self._kept = tuple(tensor.clone() for tensor in self.inputs)

    @property
    def request(self) -> BuildRequest:
        question = self.question
        return BuildRequest(
            question.implementation,
            question.kernel.folder,
            question.workload,
            self.device,
            tuple(tensor.name for tensor in question.spec.inputs),
            question.entries.get(question.implementation.stem),
            has_lines=True,
        )

    def judged(self, returned: object, memory: FreshMemory | None) -> tuple[Seen, ...]:
        """Each output beside its reference, and whether the inputs are as they were. Raises WrongResult."""
        spec, workload = self.question.spec, self.question.workload
        outputs = as_tuple(returned)  # type: ignore[arg-type] - whatever the file returns
        expected = as_tuple(self._reference(*widened(self._kept)))
        if len(outputs) != len(expected):
            raise WrongResult(
                FailureKind.WRONG_SHAPE, f"returned {len(outputs)} tensors, not {len(expected)}."
            )
        tolerance = spec.tolerance.of(workload.dtype)
        found: list[Seen] = []
        for tensor, output, right, dtype in zip(
            spec.outputs, outputs, expected, output_dtypes(spec, workload), strict=True
        ):
            made = _made(memory, output)
            found.append(
                compared(self.stage, tensor.name, output.to("cpu"), right.to("cpu"), dtype, tolerance, made)
            )
        for tensor, now, before in zip(spec.inputs, self.inputs, self._kept, strict=True):
            if not same_bits(now, before):
                found.append(InputChanged(tensor.name))
        return tuple(found)

    def raised(self, stage: StageName, error: BaseException, kernel: str = "") -> Raised:
        log = error.log if isinstance(error, BuildError) else "".join(traceback.format_exception(error))
        text = (
            str(error)
            if isinstance(error, BuildError | Refusal | WrongResult)
            else first_line(root_of(error))
        )
        return Raised(stage, text, self.lines.of_error(error), kernel, bounded(log))


def compare(subject: Subject, returned: object, memory: FreshMemory | None, say: Say) -> None:
    """The stage of the comparison."""
    name = subject.stage
    say(Said(begun=name))
    started = time.perf_counter()
    try:
        seen = subject.judged(returned, memory)
    except Exception as error:  # noqa: BLE001 - of the reference, or of what was returned
        raised = subject.raised(name, error)
        say(Said((raised,), DebugStage(name, StageEnd.FAILED, f"It cannot be compared: {raised.text}")))
        return
    say(Said(seen, _comparison_stage(name, seen, time.perf_counter() - started)))


def root_of(error: BaseException) -> BaseException:
    """What was raised first: Triton raises its own errors round it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _comparison_stage(name: StageName, seen: tuple[Seen, ...], seconds: float) -> DebugStage:
    outputs = [one for one in seen if isinstance(one, Compared)]
    wrong = [one for one in outputs if not one.is_right]
    if wrong:
        names = ", ".join(one.output for one in wrong)
        text = f"Of {len(outputs)} outputs {len(wrong)} differ from the reference: {names}."
        if len(outputs) == 1:
            text = f"Output {names} differs from the reference."
        return DebugStage(name, StageEnd.FOUND, text, seconds)
    text = (
        "The output is that of the reference."
        if len(outputs) == 1
        else "All outputs are those of the reference."
    )
    return DebugStage(name, StageEnd.CLEAN, text, seconds)


def _made(memory: FreshMemory | None, output: torch.Tensor) -> Line | None:
    return memory.made_at(output.untyped_storage().data_ptr()) if memory else None
