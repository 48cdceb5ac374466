"""Builds an implementation with the lines of its source, calls it once as it runs, and compares the outputs.

Each launch is waited for (CUDA_LAUNCH_BLOCKING), so that an error is raised where it was caused, and Triton's
device asserts are compiled in (TRITON_DEBUG). Both are set before this module is imported.
"""

import os
import time
from contextlib import nullcontext, suppress
from typing import Any

import torch

from roofscope.profiling.planning.debug_question import DebugQuestion
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.debugging import DebugStage, Said, StageEnd, StageName
from roofscope.profiling.worker.build.contract import Built
from roofscope.profiling.worker.build.providers import build
from roofscope.profiling.worker.debug.fresh_memory import FreshMemory
from roofscope.profiling.worker.debug.subject import Say, Subject, compare
from roofscope.profiling.worker.failures import Refusal


def run(question: DebugQuestion, say: Say) -> None:
    """Say how the build, the first call and the comparison ended."""
    device = torch.device(question.device)
    subject = Subject(question, device, StageName.COMPARISON)
    # In C++ memory is asked for behind torch.overrides: torch itself fills it, with NaN.
    if question.implementation.provider is Provider.CUDA_EXT:
        torch.use_deterministic_algorithms(True, warn_only=True)
    memory = FreshMemory(subject.lines, on_cpu=False)
    built = _build(subject, say)
    if built is None:
        return
    say(Said(begun=StageName.CALL))
    started = time.perf_counter()
    launches = _Launches(question)
    try:
        observed = memory if question.implementation.provider is not Provider.COMPILE else nullcontext()
        with launches, observed:  # Dynamo would trace the mode
            returned = built.call(*subject.inputs)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
    except Refusal as error:
        say(Said(stage=DebugStage(StageName.CALL, StageEnd.LEFT_OUT, str(error))))
        return
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        raised = subject.raised(StageName.CALL, error, launches.last)
        name = f" in {launches.last}" if launches.last else ""
        text = f"The first call ended{name} with: {raised.text}"
        say(Said((raised,), DebugStage(StageName.CALL, StageEnd.FAILED, text, time.perf_counter() - started)))
        return
    where = "on the GPU, each launch waited for" if device.type == "cuda" else "on the CPU"
    seconds = time.perf_counter() - started
    say(Said(stage=DebugStage(StageName.CALL, StageEnd.CLEAN, f"One call {where}: it returned.", seconds)))
    compare(subject, returned, memory, say)


def call(question: DebugQuestion, say: Say) -> None:
    """For a tool that observes this process: nothing is judged. What is raised is said: it ends the view."""
    device = torch.device(question.device)
    subject = Subject(question, device, StageName.CALL)
    built = _build(subject, say)
    if built is None:
        return
    try:
        built.call(*subject.inputs)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        text = f"The call ended with: {subject.raised(StageName.CALL, error).text}"
        say(Said(stage=DebugStage(StageName.CALL, StageEnd.FAILED, text)))


def _build(subject: Subject, say: Say) -> Built | None:
    name = StageName.BUILD
    say(Said(begun=name))
    os.environ["NVCC_APPEND_FLAGS"] = f"{os.environ.get('NVCC_APPEND_FLAGS', '')} -lineinfo".strip()
    started = time.perf_counter()
    try:
        built = build(subject.request)
    except Refusal as error:
        say(Said(stage=DebugStage(name, StageEnd.LEFT_OUT, str(error), time.perf_counter() - started)))
        return None
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        raised = subject.raised(name, error)
        text = f"It was not built: {raised.text}"
        say(Said((raised,), DebugStage(name, StageEnd.FAILED, text, time.perf_counter() - started)))
        return None
    text = "It was built, with the lines of its source."
    say(Said(stage=DebugStage(name, StageEnd.CLEAN, text, time.perf_counter() - started)))
    return built


class _Launches:
    """Which Triton kernel was launched last, while it is entered: that an error is of."""

    def __init__(self, question: DebugQuestion) -> None:
        self.last = ""
        self._hook: Any = None
        if question.implementation.provider is Provider.TRITON:
            with suppress(ImportError, AttributeError):
                from triton import knobs

                self._hook = knobs.runtime.launch_enter_hook

    def __enter__(self) -> None:
        if self._hook is not None:
            self._hook.add(self._note)

    def __exit__(self, *_: object) -> None:
        if self._hook is not None:
            self._hook.remove(self._note)

    def _note(self, metadata: Any) -> None:
        self.last = str(metadata.get()["name"])
