"""Each rule that may name a limiter, in words: what limits, by what evidence, and the next thing to try."""

from typing import NamedTuple

from roofscope.app.presentation.formatting import (
    bandwidth_text,
    clock_text,
    count_text,
    flop_rate_text,
    memory_text,
    percent_text,
    power_text,
    ratio_text,
    si_text,
    traffic_text,
)
from roofscope.profiling.analysis.advice.above_roof import AboveRoof
from roofscope.profiling.analysis.advice.access import Access
from roofscope.profiling.analysis.advice.at_roof import AtRoof
from roofscope.profiling.analysis.advice.cache_resident import CacheResident
from roofscope.profiling.analysis.advice.doubles import Doubles
from roofscope.profiling.analysis.advice.extra_bytes import ExtraBytes
from roofscope.profiling.analysis.advice.gaps import Gaps
from roofscope.profiling.analysis.advice.held_clock import HeldClock
from roofscope.profiling.analysis.advice.launch_bound import LaunchBound
from roofscope.profiling.analysis.advice.launch_latency import LaunchLatency
from roofscope.profiling.analysis.advice.little_work import LittleWork
from roofscope.profiling.analysis.advice.not_bytes import NotBytes
from roofscope.profiling.analysis.advice.occupancy import Occupancy
from roofscope.profiling.analysis.advice.partial_waves import PartialWaves
from roofscope.profiling.analysis.advice.power_cap import PowerCap
from roofscope.profiling.analysis.advice.rules import AnyAdvice
from roofscope.profiling.analysis.advice.several_kernels import SeveralKernels
from roofscope.profiling.analysis.advice.special_functions import SpecialFunctions
from roofscope.profiling.analysis.advice.spills import Spills
from roofscope.profiling.analysis.advice.tensor_cores import TensorCores
from roofscope.profiling.analysis.advice.throttled import Throttled
from roofscope.profiling.analysis.advice.too_small import TooSmall
from roofscope.profiling.analysis.traffic import MUCH_MORE
from roofscope.profiling.plain_text import one_line


class Words(NamedTuple):
    """Three whole sentences."""

    limit: str
    evidence: str
    step: str


def brief(seconds: float | None) -> str:
    """Three digits: enough to compare by, and what a prefix of 1000 needs."""
    return si_text(seconds, "s")


def limit_words(found: AnyAdvice) -> Words | None:
    """None for a rule that names no limiter."""
    return _of_launches(found) or _of_code(found) or _of_device(found)


def short_name(found: AnyAdvice) -> str:
    """For a column, where the verdict has no name for what the sentences say; "" where it has one."""
    match found:
        case TooSmall():
            return "too small"
        case ExtraBytes():
            return "extra bytes"
        case Doubles():
            return "double arithmetic"
        case TensorCores():
            return "plain float units"
        case NotBytes():
            return "work an element"
        case Occupancy():
            return "too few threads"
        case Access():
            return "memory access" if found.is_proven else "memory access?"
        case PowerCap():
            return "power"
        case _:
            return ""


def _of_launches(found: AnyAdvice) -> Words | None:
    match found:
        case LaunchBound():
            kernels = _kernels(found.launches)
            graph = "Compile it with mode reduce-overhead"
            step = graph if found.is_compiled else "Replay it as a CUDA graph"
            return Words(
                "Launches from the host limit it, not the device.",
                f"The host takes {brief(found.host_s)} to launch {kernels} that the device does in "
                f"{brief(found.device_s)}.",
                f"{step}, or give each call more work.",
            )
        case LaunchLatency():
            return Words(
                "Starting its kernels limits it.",
                f"Empty launches alone take {percent_text(found.share)} of its time, "
                f"{brief(found.floor_s)} each.",
                "Fuse its kernels into one." if found.launches > 1.5 else _MORE_WORK,
            )
        case TooSmall(blocks=None):
            return Words(
                "It is too small for this device.",
                f"Its roof allows {brief(found.least_s)}, and an empty kernel takes {brief(found.floor_s)}.",
                _MORE_WORK,
            )
        case TooSmall():
            return Words(
                "It is too small to fill this device.",
                f"Its grid has {count_text(found.blocks)} blocks for {count_text(found.multiprocessors)} "
                "multiprocessors.",
                "Split each block's work over several (split-K, smaller tiles), or batch calls.",
            )
        case LittleWork():
            elements = "a block of elements a program (tl.arange)" if found.is_triton else "16 bytes a thread"
            return Words(
                "Its blocks have too little to do: starting each, and its one wait for memory, limit it.",
                f"{count_text(round(found.blocks))} blocks of {count_text(found.threads)} threads have "
                f"{memory_text(found.bytes_a_block)} each to move.",
                f"Give each block more: {elements}, and several such a block.",
            )
        case Gaps():
            return Words(
                "Gaps between its kernels limit it.",
                f"{percent_text(found.share)} of its time lies between {_kernels(found.launches)}.",
                "Fuse them into fewer, or start each before the last ends (programmatic dependent launch).",
            )
        case SeveralKernels():
            return Words(
                "Passing data from kernel to kernel limits it.",
                f"{_capital(_kernels(found.launches))} go through memory, the longest for "
                f"{percent_text(found.longest_share)} of their time; one pass over the compulsory bytes "
                f"takes {brief(found.compulsory_s)}.",
                "Fuse them: torch.compile does, or write one Triton kernel."
                if found.is_eager
                else "Fuse what is left into one kernel, or keep what lies between in the cache.",
            )
        case ExtraBytes() if found.counted_bytes is not None:
            ratio = ratio_text(found.counted_bytes / found.compulsory_bytes)
            return Words(
                "Bytes that no formula asks for limit it.",
                f"It moves {traffic_text(found.counted_bytes)} of DRAM, counted: {ratio} the "
                f"{traffic_text(found.compulsory_bytes)} that it must.",
                "Fuse what writes them with what reads them, or use tiles that a cache keeps.",
            )
        case ExtraBytes():
            return Words(
                "Bytes that no formula asks for limit it.",
                f"It keeps {memory_text(found.temporary_bytes)} of intermediate tensors beside "
                f"{memory_text(found.compulsory_bytes)} of compulsory bytes.",
                "Fuse what writes them with what reads them, or write into the output in place.",
            )
        case _:
            return None


_IN_FLOAT_C = "Write constants with an f (0.5f) and call the float functions (tanhf, expf)"
_IN_FLOAT_TRITON = "Load as tl.float32 and leave out the casts to tl.float64"
_MORE_WORK = "Give one call more work: a larger size, or several calls batched into one."


def _of_code(found: AnyAdvice) -> Words | None:
    match found:
        case Doubles():
            step = _IN_FLOAT_TRITON if found.is_triton else _IN_FLOAT_C
            return Words(
                "Double arithmetic limits it, not memory.",
                _doubles(found),
                f"{step}, unless the precision is meant.",
            )
        case TensorCores():
            why = "; its source multiplies no matrices" if found.without_matrix_code else ""
            return Words(
                "The plain float units limit it: the tensor cores idle."
                if found.is_near_floats
                else "It multiplies without the tensor cores, which idle.",
                f"It does {flop_rate_text(found.rate)}, below the {flop_rate_text(found.float_ceiling)} of "
                f"the FP32 units{why}; the tensor cores reach {flop_rate_text(found.tensor_ceiling)}.",
                "Multiply by matrix instructions: tl.dot in Triton, mma or wgmma in CUDA, or call cuBLAS.",
            )
        case Spills():
            step = (
                "Take smaller tiles, or more warps (num_warps)"
                if found.is_triton
                else "Keep fewer values a thread, or allow it more registers (__launch_bounds__)"
            )
            held = f" beside the {count_text(found.registers)} it has" if found.registers else ""
            return Words(
                "Spilled registers limit it.",
                f"The compiler spilled {memory_text(found.spilled_bytes)} a thread{held}.",
                f"{step}.",
            )
        case NotBytes():
            return Words(
                "The work for each element limits it, not the bytes that it moves.",
                f"In {found.dtype.label} a call moves {memory_text(found.byte_count)} and takes as long, "
                f"{brief(found.other_s)}.",
                "Spend less an element: wider loads, more of them at once, fewer and cheaper instructions.",
            )
        case Occupancy():
            return _occupancy(found)
        case PartialWaves():
            return Words(
                "The last wave of its blocks limits it.",
                f"{count_text(round(found.blocks))} blocks keep "
                f"{count_text(found.multiprocessors)} multiprocessors busy for "
                f"{percent_text(found.busy_share)} of the time.",
                "Choose tiles whose count is a multiple of the multiprocessors, or a persistent grid.",
            )
        case Access():
            return _access(found)
        case _:
            return None


def _access(found: Access) -> Words:
    """With counted bytes the cause; else those that look alike."""
    limit = "How it reads memory limits it: "
    evidence = (
        f"It moves its bytes at {bandwidth_text(found.bandwidth)}; in this time the memory could "
        f"move {ratio_text(found.times)} as many"
    )
    cause = "bytes come more than once, or too few are in flight"
    cure = "read each byte once, neighbouring threads neighbouring addresses, 16 bytes a thread"
    if not found.is_gpu:
        cure = "read each byte once and in order, on all cores"
    elif found.dram_times is not None and found.dram_times < MUCH_MORE:
        evidence += f". Counted at DRAM: {ratio_text(found.dram_times)} the bytes that it must move"
        if found.l2_times is not None and found.l2_times >= MUCH_MORE:
            evidence += f"; at L2 {ratio_text(found.l2_times)}"
            cause = "it asks for parts of lines, and for each line several times"
            cure = "give neighbouring threads neighbouring addresses, by way of shared memory if need be"
        else:
            cause = "each byte comes once, and too few are in flight"
            cause += "" if found.is_proven else ", or each takes much work"
            cure = "load 16 bytes a thread, and several times before the first result is needed"
    elif not found.is_proven:
        limit, cause = "How it reads memory limits it, or the work for each element", ""
        evidence += "; which of them it is, an exact run tells (--exact), or another element type"
    if not found.is_editable:
        cure = f"this kernel is PyTorch's; in one of your own, {cure}"
    return Words(f"{limit}{cause}.", f"{evidence}.", f"{cure[0].upper()}{cure[1:]}.")


def _of_device(found: AnyAdvice) -> Words | None:
    match found:
        case AboveRoof():
            return Words(
                "Nothing can be said: it is above its roof, which cannot be.",
                f"It reads {percent_text(found.fraction)} of its ceiling.",
                "Check the kernel's FLOP and byte formulas, or measure the ceilings again.",
            )
        case CacheResident():
            return Words(
                "The cache holds its data, so memory does not limit it.",
                f"A call moves {memory_text(found.byte_count)}, and the last-level cache holds "
                f"{memory_text(found.cache_bytes)}.",
                f"Choose a size above {memory_text(found.least_bytes)} to learn of memory.",
            )
        case PowerCap():
            limit = f"the {power_text(found.limit_w)} of the board" if found.limit_w else "the board's limit"
            return Words(
                "Power limits it: its roof is lower at the clock that the board holds.",
                f"The driver gave the power cap as its reason; {limit} let it hold "
                f"{clock_text(found.clock_hz)} of {clock_text(found.highest_hz)}.",
                "Spend less energy a result: fewer bytes from memory, shorter types; "
                "faster code alone only lowers the clock.",
            )
        case SpecialFunctions():
            return Words(
                "Special functions limit it: exponentials, tanh and their like.",
                f"It is at {percent_text(found.fraction)} of what the special function units do.",
                "Compute fewer: exp2 for exp, a packed or approximate tanh, a polynomial on the FMA units.",
            )
        case Throttled():
            return _throttled(found)
        case HeldClock():
            return Words(
                "Its roof limits it, at a clock that the device held down.",
                f"It is at {percent_text(found.fraction)} of the ceiling, at {clock_text(found.clock_hz)} of "
                f"{clock_text(found.highest_hz)}. The driver gave no reason while it ran; of a product on "
                "tensor cores it is the board's power, as a rule.",
                "Measure it with --sustained, where the driver's reason is seen; less energy a result raises "
                "the clock.",
            )
        case AtRoof():
            return Words(
                "Its roof limits it: nothing is left to gain here.",
                f"It is at {percent_text(found.fraction)} of the ceiling, as near as both are known.",
                "Leave its code; fusing it with what comes before or after saves whole passes.",
            )
        case _:
            return None


def _doubles(found: Doubles) -> str:
    parts: list[str] = []
    if found.instructions:
        parts.append(f"{count_text(found.instructions)} instructions compute in double precision")
    if found.lines:
        several = "lines" if len(found.lines) > 1 else "line"
        lines = ", ".join(map(str, found.lines[:4]))
        parts.append(f"{several} {lines} of {one_line(found.file)} computes in double")
    if found.floats_a_double:
        parts.append(f"this device does {ratio_text(found.floats_a_double)} as many floats a cycle")
    return f"{_capital('; '.join(parts))}."


def _occupancy(found: Occupancy) -> Words:
    why = [f"{count_text(found.registers)} registers a thread"] if found.registers else []
    why += [f"{memory_text(found.shared_bytes)} of shared memory a block"] if found.shared_bytes else []
    at_most = "at most " if found.is_bound else ""
    share = percent_text(found.occupancy)
    held = f", by {' and '.join(why)}" if why else ""
    return Words(
        "Probably too few threads at once: the wait for memory shows.",
        f"A multiprocessor holds {at_most}{share} of the warps it could{held}.",
        "Use fewer registers or less shared memory, or keep more loads in flight a thread.",
    )


def _throttled(found: Throttled) -> Words:
    clocks = f"it held {clock_text(found.clock_hz)}" if found.clock_hz else "its clock fell"
    fresh = f" and a fresh device {clock_text(found.fresh_hz)}" if found.fresh_hz else ""
    because = f"; the driver says {one_line(', '.join(found.held_by))}" if found.held_by else ""
    step = (
        "Let the clock free (nvidia-smi --reset-gpu-clocks)"
        if found.is_setting
        else "Let it cool and measure again; compare only what was measured in the same run"
    )
    return Words("A clock that was held down limits it.", f"{_capital(clocks)}{fresh}{because}.", f"{step}.")


def _kernels(launches: float) -> str:
    return "1 kernel" if launches <= 1 else f"{launches:.3g} kernels"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
