"""What was found of an implementation without the GPU that it is for: in words, and never as a time."""

from roofscope.app.presentation.fact import Fact, Section, section
from roofscope.app.presentation.formatting import count_text, error_text, memory_text, sizes_text, time_text
from roofscope.app.presentation.source.launch import built_kernels_of, limit_text, occupancy_text
from roofscope.profiling.analysis.occupancy import Occupancy
from roofscope.profiling.planning.spec import Workload
from roofscope.profiling.results.outcome import BuildInfo, Examined
from roofscope.profiling.results.session import Point
from roofscope.profiling.roofline.architecture import gpu_of

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
        if shared := shared_bytes_of(build):
            found.append(f"{memory_text(shared)} shared")
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


def examined_section(point: Point, examined: Examined, recorded: Fact) -> Section:
    """In the place of the times: what it is, so that no figure below it is taken for one."""
    checked = examined.verified_sizes if examined.verification else {}
    return section(
        "Time",
        Fact("Here", "none: it did not run on a GPU"),
        recorded,
        Fact("Verified", VERIFIED if examined.verification else "", "Triton's interpreter runs on the CPU"),
        Fact(
            "Verified at",
            sizes_text(checked) if checked and is_smaller(examined, point.job.workload) else "",
            "Smaller than planned, because the interpreter is slow; an odd size and large inputs, too",
        ),
        Fact("Compiled", compiled_text(examined), "At the planned sizes; its kernels were not launched"),
        Fact("Missing", examined.missing),
    )


def shared_bytes_of(build: BuildInfo) -> int | None:
    """Of the kernel that takes the most: declared, and asked for at its launch."""
    found = [kernel.shared_bytes for kernel in built_kernels_of(build)]
    return max((each for each in found if each is not None), default=build.shared_bytes)


def occupancy_of(examined: Examined) -> Occupancy | None:
    """Of the kernel with the least, on a GPU of the architecture; None where no launch is known."""
    gpu = gpu_of(examined.architecture)
    if gpu is None or examined.build is None:
        return None
    found = (kernel.occupancy(gpu.device) for kernel in built_kernels_of(examined.build))
    return min((each for each in found if each), key=lambda each: each.share, default=None)


def compiled_section(examined: Examined) -> Section:
    """What the compiler made for the architecture."""
    build = examined.build
    if build is None:
        return Section("", ())
    gpu, found = gpu_of(examined.architecture), occupancy_of(examined)
    return section(
        "Build",
        Fact("Architecture", examined.architecture),
        Fact("Compile time", time_text(build.compile_s)),
        Fact("Registers", count_text(build.registers), "A thread"),
        Fact("Spills", memory_text(build.spill_bytes), "A thread; they go to local memory"),
        Fact("Shared memory", memory_text(shared_bytes_of(build)), "A block, declared and dynamic"),
        Fact(
            "Occupancy",
            f"{occupancy_text(found)}; limited by {limit_text(found)}" if found and gpu else "",
            f"Of the kernel with the least, on {gpu.driver_name if gpu else ''}; computed, not seen",
        ),
        Fact("Doubles", count_text(build.double_instructions), "Instructions in double precision"),
        Fact("Configuration", build.configuration or "", "Of an autotuner, which had no times to choose by"),
    )
