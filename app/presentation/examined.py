"""What was found of an implementation without the GPU that it is for: in words, and never as a time."""

from roofscope.app.presentation.formatting import error_text, memory_text, sizes_text
from roofscope.profiling.planning.spec import Workload
from roofscope.profiling.results.outcome import Examined

VERIFIED = "verified in the interpreter, not timed"


def examined_title(examined: Examined) -> str:
    """``verified in the interpreter, not timed; compiled for sm_90a, not run``."""
    return "; ".join(filter(None, (VERIFIED if examined.verification else "", compiled_text(examined))))


def compiled_text(examined: Examined) -> str:
    """``compiled for sm_90a, not run``; "" of what was not compiled."""
    return f"compiled for {examined.architecture}, not run" if examined.build else ""


def examined_status(examined: Examined) -> str:
    """In a few words, for a narrow column."""
    return "verified, not timed" if examined.verification else "compiled, not run"


def examined_figures(examined: Examined) -> tuple[str, ...]:
    """``error 1.2e-7``, ``32 registers``, ``no spills``, ``4 KiB shared``: as far as they are known."""
    found: list[str] = []
    if examined.verification:
        found.append(f"error {error_text(examined.verification.relative_error)}")
    if build := examined.build:
        if build.registers:
            found.append(f"{build.registers} registers")
        if build.spill_bytes is not None:
            found.append(f"{memory_text(build.spill_bytes)} of spills" if build.spill_bytes else "no spills")
        if build.shared_bytes:
            found.append(f"{memory_text(build.shared_bytes)} shared")
    return tuple(found)


def examined_sentence(examined: Examined, workload: Workload) -> str:
    """For the details, reports and the list: what is known, at which size, and what is missing."""
    parts: list[str] = []
    if examined.verification:
        at = f" at {sizes_text(examined.verified_sizes)}" if is_smaller(examined, workload) else ""
        parts.append(f"Verified in Triton's interpreter{at}, not timed.")
    if examined.build:
        parts.append(f"Compiled for {examined.architecture}, not run.")
    parts.append(examined.missing)
    return " ".join(filter(None, parts))


def is_smaller(examined: Examined, workload: Workload) -> bool:
    """Whether the interpreter was given other sizes than the workload's."""
    return bool(examined.verified_sizes) and examined.verified_sizes != workload.sizes
