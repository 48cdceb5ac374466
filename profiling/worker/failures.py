"""The ways an implementation can end without a time, as exceptions inside the worker.

They are classified once, by exception type, CUDA error code and stage, never by message text.
"""

import traceback
from pathlib import Path
from typing import Any

import msgspec

from roofscope.profiling.results.outcome import Failed, FailureKind, SkipKind, Skipped, Stage
from roofscope.profiling.supervision.worker_log import WorkerLog

_OUR_CODE = Path(__file__).resolve().parent
_MOST_MESSAGE = 1000  # letters
_MOST_CAUSES = 20  # a kernel may make a ring of them
_CAPTURE_ERRORS = range(900, 909)  # cudaErrorStreamCaptureUnsupported to cudaErrorStreamCaptureWrongThread


class Refusal(Exception):
    """This implementation does not run here; the text is one sentence with the reason."""

    kind = SkipKind.UNSUPPORTED


class Unavailable(Refusal):
    """Something that could be installed is missing."""

    kind = SkipKind.UNAVAILABLE


class TooLarge(Refusal):
    """The workload does not fit the device's free memory."""

    kind = SkipKind.TOO_LARGE


class Changed(Refusal):
    """The files are no longer those that were planned: their time would be stored under the old hash."""

    kind = SkipKind.CHANGED


class BuildError(Exception):
    """The compiler refused the source. ``log`` is what it printed."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


class WrongResult(Exception):
    """Verification found a result that differs from the reference's."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class DeviceFault(Exception):
    """The device's context, or torch's state of it, is broken; this worker must end."""


class CancelRequested(Exception):
    """The parent asked to stop; raised between blocks and stages only."""


def classify(error: Exception, *, what: str, stage: Stage, device_is_sound: bool) -> Failed | Skipped:
    """The outcome for an exception in a stage. ``what`` names the implementation and sizes."""
    outcome = _classify(error, what=what, stage=stage, device_is_sound=device_is_sound)
    if isinstance(outcome, Skipped):
        return msgspec.structs.replace(outcome, message=encodable(outcome.message))
    return msgspec.structs.replace(outcome, message=encodable(outcome.message), log=encodable(outcome.log))


def _classify(error: Exception, *, what: str, stage: Stage, device_is_sound: bool) -> Failed | Skipped:
    if isinstance(error, Refusal):
        return Skipped(error.kind, str(error)[:_MOST_MESSAGE])
    if not device_is_sound:
        message = f"{what} broke the GPU's context ({first_line(error)}); the worker was restarted."
        return Failed(
            FailureKind.DEVICE_FAULT, stage, f"{message} Run it under compute-sanitizer.", _log(error)
        )
    match error:
        case _ if short := _shortage(error):
            return Skipped(SkipKind.UNSUPPORTED, f"{what} {short}"[:_MOST_MESSAGE])
        case _ if _is_our_own(error):
            message = f"{what} met an error of Roofscope's own ({first_line(error)}); please report its log."
            return Failed(FailureKind.INTERNAL, stage, message, _log(error))
        case BuildError():
            return Failed(
                FailureKind.BUILD_ERROR,
                stage,
                f"{what} was not built: {str(error)[:_MOST_MESSAGE]}",
                bounded(error.log),
            )
        case WrongResult():
            return Failed(error.kind, stage, f"{what} {error}")
        case _ if where := _full_memory(error):
            return Failed(
                FailureKind.OUT_OF_MEMORY, stage, f"{what} ran out of {where}; choose smaller sizes."
            )
        case _:
            # A compiler that runs at the first call fails inside a call, not in the build stage.
            if stage is Stage.BUILD or _is_compiler_error(error):
                told = _of_triton(error) or f"{_place(error)}{first_line(error)}"
                message = f"{what} was not built: {told}"
                return Failed(FailureKind.BUILD_ERROR, stage, message, _log(error))
            message = f"{what} failed in its {stage} stage: {first_line(error)}"
            return Failed(FailureKind.LAUNCH_ERROR, stage, message, _log(error))


def has_broken_capture(error: BaseException | None) -> bool:
    """Whether the capture of a CUDA graph failed under an implementation: its own, or torch.compile's.

    Torch up to 2.11 then goes on recording, and torch.compile's graphs fail in later jobs as well.
    """
    while error is not None:
        if getattr(error, "error_code", None) in _CAPTURE_ERRORS:
            return True
        error = error.__context__
    return False


def _is_our_own(error: BaseException) -> bool:
    """Whether our own code raised it by accident: a kernel's error comes from its file or a library."""
    if isinstance(error, BuildError | WrongResult | RuntimeError | MemoryError):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).resolve().is_relative_to(_OUR_CODE)


def _is_compiler_error(error: BaseException) -> bool:
    """Whether a compiler raised it, judged by the module that defines the exception's class."""
    modules = ("triton.compiler", "triton.runtime.errors", "torch._dynamo", "torch._inductor")
    return any(
        type(cause).__module__.startswith(modules)
        for cause in (error, error.__cause__, error.__context__)
        if cause is not None
    )


def _shortage(error: BaseException) -> str:
    """Of what a block would need more than this GPU has, in a clause; "" of other errors."""
    for cause in (error, error.__cause__, error.__context__):
        if type(cause).__module__ == "triton.runtime.errors" and type(cause).__name__ == "OutOfResources":
            required, limit, name = (getattr(cause, field, None) for field in ("required", "limit", "name"))
            if isinstance(required, int) and isinstance(limit, int):
                if name == "shared memory":
                    kib = f"{-(-required // 1024)} KiB", f"{limit // 1024} KiB"
                    return f"needs {kib[0]} of shared memory a block, and this GPU has {kib[1]}."
                return f"needs {required} {name} a block, and this GPU has {limit}."
    return ""


def _full_memory(error: Exception) -> str:
    """Which memory is full; "" of other errors. On a CPU torch raises a RuntimeError of these words."""
    import torch  # here, so that importing Refusal stays cheap for launchers

    if isinstance(error, torch.cuda.OutOfMemoryError):
        return "device memory"
    is_torch_on_cpu = type(error) is RuntimeError and "DefaultCPUAllocator" in first_line(error)
    return "the host's memory" if isinstance(error, MemoryError) or is_torch_on_cpu else ""


def _of_triton(error: BaseException) -> str:
    """Line and words of Triton's compiler, which counts lines from the function's own; "" of other errors."""
    found: Any = None
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):  # the innermost is of the function in which it is
        if cause is None:
            break
        if type(cause).__module__.startswith("triton.compiler") and getattr(cause, "error_message", ""):
            found = cause
        cause = cause.__cause__ or cause.__context__
    if found is None:
        return ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        kernel = getattr(frame.f_locals.get("self"), "fn", None)
        known = getattr(getattr(kernel, "fn", None), "__globals__", {})  # it may call others of its file
        for function in (kernel, *known.values()):
            if function and getattr(function, "src", "") == found.src:
                code = function.fn.__code__
                line = _line_of_def(function) + getattr(found.node, "lineno", 1) - 1
                words = str(found.error_message).strip().splitlines()[-1][:_MOST_MESSAGE]
                return f"{Path(code.co_filename).name}:{line}: {words}"
    return ""


def _line_of_def(function: Any) -> int:
    """Of a Triton function in its file; decorators stand above, and its source begins without them."""
    lines = function.raw_src
    head = next((at for at, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return function.starting_line_number + head


def _place(error: BaseException) -> str:
    """File and line in the kernel's code that raised it, such as ``eager.py:3: ``; "" where not known."""
    if isinstance(error, SyntaxError):  # has no frame in the file, and its text names file and line
        return ""
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_absolute() and not path.resolve().is_relative_to(_OUR_CODE.parent):
            return f"{path.name}:{frame.lineno}: "
    return ""


def first_line(error: BaseException) -> str:
    """Of what the error says; its type where it says nothing."""
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - its class is a kernel's own, and so is what that does
        text = f"{type(error).__name__}, which cannot be printed"
    return encodable((text or type(error).__name__).splitlines()[0][:300])


def encodable(text: str) -> str:
    """As it is, but for lone surrogates, which no message takes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _log(error: BaseException) -> str:
    return bounded("".join(traceback.format_exception(error)))


def bounded(log: str) -> str:
    """A log's beginning and end: an exception's text may be as long as a tensor printed in full."""
    kept = WorkerLog()
    kept.add(log.encode("utf-8", "replace"))
    return kept.text
