"""Calls a Triton version once in Triton's interpreter, on the CPU, and compares what it returned."""

import time
import warnings

import torch

from roofscope.profiling.planning.debug_question import DebugQuestion
from roofscope.profiling.results.debugging import (
    DebugStage,
    Launched,
    Overflow,
    Raised,
    Said,
    Seen,
    StageEnd,
    StageName,
)
from roofscope.profiling.worker.build.contract import run_of
from roofscope.profiling.worker.build.own_file import module_of
from roofscope.profiling.worker.debug.fresh_memory import FreshMemory, StandInDriver, without_gpu
from roofscope.profiling.worker.debug.subject import Say, Subject, compare
from roofscope.profiling.worker.failures import Refusal

_NAME = StageName.INTERPRETER
# What the interpreter lacks, and compiled code has: no mistake of the file.
_UNKNOWN = (
    "extern_elementwise not supported in interpreter mode",
    "inline_asm not supported in interpreter mode",
    "mask has unsupported dtype",
)


def interpret(question: DebugQuestion, say: Say) -> None:
    """Say how the interpreter's stage and the comparison ended."""
    say(Said(begun=_NAME))
    started = time.perf_counter()
    warnings.simplefilter("ignore")  # numpy, which does the work, warns of NaN and of what overflows
    try:
        from roofscope.profiling.worker.debug.checked_interpreter import VERSION, CheckedInterpreter
    except ImportError:
        say(Said(stage=DebugStage(_NAME, StageEnd.LEFT_OUT, "Triton is not installed here.")))
        return
    device = torch.device("cpu")
    subject = Subject(question, device, StageName.INTERPRETED)
    memory = FreshMemory(subject.lines, on_cpu=True)
    checked = CheckedInterpreter(subject.lines, memory)
    _use_stand_in()
    returned: object = None
    raised: Exception | None = None
    try:
        request = subject.request
        with without_gpu(), memory, checked.entered():
            run = run_of(module_of(request, f"{question.implementation.stem}.py"), *request.inputs)
            returned = run(*subject.inputs)
    except Refusal as error:
        say(Said(stage=DebugStage(_NAME, StageEnd.LEFT_OUT, str(error), time.perf_counter() - started)))
        return
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        raised = error
    seen: tuple[Seen, ...] = checked.seen
    seconds = time.perf_counter() - started
    if raised is not None:
        seen = (*seen, subject.raised(_NAME, raised))
    stage = _stage(seen, VERSION, seconds)
    if stage.end is StageEnd.LEFT_OUT:
        seen = ()
    say(Said(seen, stage))
    if raised is None:
        compare(subject, returned, memory, say)


def _stage(seen: tuple[Seen, ...], version: str, seconds: float) -> DebugStage:
    launches = [one for one in seen if isinstance(one, Launched)]
    faults = [one for one in seen if not isinstance(one, Launched | Overflow)]
    raised = next((one for one in seen if isinstance(one, Raised)), None)
    if raised and raised.text in _UNKNOWN:
        text = f"Triton's interpreter cannot run it: {raised.text}."
        return DebugStage(_NAME, StageEnd.LEFT_OUT, text, seconds)
    if raised:
        return DebugStage(_NAME, StageEnd.FAILED, f"The call ended with: {raised.text}", seconds)
    if not launches:
        return DebugStage(_NAME, StageEnd.LEFT_OUT, "The call launched no Triton kernel.", seconds)
    kernels = ", ".join(dict.fromkeys(one.kernel for one in launches))
    many = f"{len(launches)} launches" if len(launches) > 1 else "1 launch"
    what = f"{many} of {kernels} in the interpreter of Triton {version}, each access checked"
    if faults:
        return DebugStage(_NAME, StageEnd.FOUND, f"{what}: not all are right.", seconds)
    return DebugStage(_NAME, StageEnd.CLEAN, f"{what}: all are right.", seconds)


def _use_stand_in() -> None:
    """Triton's own driver asks for a GPU."""
    if torch.cuda.is_available():
        return
    from triton import testing
    from triton.runtime import driver

    stand_in = StandInDriver()
    driver.set_active(stand_in)  # pyright: ignore[reportArgumentType]
    testing.do_bench = stand_in.get_benchmarker()
