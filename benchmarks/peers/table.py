"""The comparison as Markdown: a line a row, then the implementations without a time, and why."""

import math
import shlex
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from roofscope.app.presentation.formatting import (
    bandwidth_text,
    flop_rate_text,
    percent_text,
    range_text,
    size_and_fill_text,
    time_text,
)
from roofscope.app.presentation.verdict_text import share_text
from roofscope.benchmarks.peers.goals import (
    AtLeast,
    Goal,
    Judgement,
    OfCeiling,
    judged_by_ceiling,
    judged_by_ratio,
)
from roofscope.benchmarks.peers.rows import Row
from roofscope.profiling.analysis.comparison import compare
from roofscope.profiling.analysis.statistics import Comparison
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.plan import Job, by_default
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.profiling.results.outcome import Examined, Measured
from roofscope.profiling.results.session import Point, Session, version
from roofscope.profiling.roofline.roofline import Bound, Mix, Source

OURS = (Provider.CUDA, Provider.TRITON)
PEERS = (Provider.EAGER, Provider.COMPILE, Provider.LIBRARY)
HEADER = (
    *(
        "row",
        "workload",
        "CUDA",
        "Triton",
        "eager",
        "torch.compile",
        "libraries",
        "rate of ours",
        "of its roof",
    ),
    *("best peer / ours", "goal", ""),
)
_PACKAGES = (
    *("torch", "triton", "liger-kernel", "quack-kernels", "flash-attn-4", "nvidia-cutlass-dsl", "cuda-cccl"),
    "flashinfer-python",
    *("nvidia-cudnn-cu13", "nvidia-cublas"),
)
_KNOWN_TO_TORCH = ("4.6.2", "4.7.1", "4.8.0")  # to 2.15: torch/_native/cutedsl_utils.py
_SLOW = ("naive", "textbook")  # for teaching, not for speed
_BEFORE_HOPPER = ("cuda_ffma", "cuda_mma")


class Line(Struct, frozen=True):
    """A row, its job, and the points of the job in the order they came."""

    row: Row
    job: Job
    points: tuple[Point, ...]

    def fastest(self, *providers: Provider) -> Point | None:
        """The fastest measured point of these providers."""
        measured = (point for point in self.points if point.implementation.provider in providers)
        return min((point for point in measured if point.measured), key=_median_s, default=None)

    def of(self, stem: str) -> Point | None:
        return next((p for p in self.points if p.measured and p.implementation.stem == stem), None)


class Found(Struct, frozen=True):
    """A line, and the session that it and the ceilings of its card are of."""

    line: Line
    session: Session


def candidates(kernel: Kernel, dtype: Dtype) -> tuple[str, ...]:
    """Stems of what a row compares: our good ones, eager, torch.compile's default mode, the libraries."""
    stems = {found.stem for found in kernel.implementations}
    out = set(_BEFORE_HOPPER) if "cuda_wgmma" in stems and dtype is not Dtype.FLOAT32 else set[str]()
    return tuple(
        found.stem
        for found in kernel.implementations
        if _is_compared(kernel, found) and found.stem not in out
    )


def _is_compared(kernel: Kernel, implementation: Implementation) -> bool:
    if implementation.provider is Provider.LIBRARY:
        return True
    return by_default(kernel, implementation) and not any(word in implementation.stem for word in _SLOW)


def judgements(found: Found) -> list[Judgement]:
    """How each goal of the row came out."""
    return [_judge(goal, found.line, found.session) for goal in found.line.row.goals]


def _judge(goal: Goal, line: Line, session: Session) -> Judgement:
    match goal:
        case OfCeiling(mix=mix):
            best = line.fastest(*OURS)
            rate = best.achieved_bandwidth if best else None
            return judged_by_ceiling(goal, rate, ceiling_of(session, mix))
        case AtLeast(peer=peer, ours=ours):
            mine = line.fastest(*([Provider(ours)] if ours else OURS))
            found = peer_over_ours(line.of(peer) if peer else line.fastest(*PEERS), mine)
            if found is None:
                return judged_by_ratio(goal, None)
            return judged_by_ratio(goal, found.ratio, found.low, found.high)


def ceiling_of(session: Session, mix: Mix) -> float | None:
    """The measured burst DRAM ceiling of an access mix, byte/s."""
    ceilings = session.roofline.ceilings
    bursts = (c for c in ceilings if c.bound is Bound.DRAM and c.source is Source.MEASURED_BURST)
    return next((c.value for c in bursts if c.mix is mix), None)


def peer_over_ours(peer: Point | None, mine: Point | None) -> Comparison | None:
    """The peer's time over ours: within rounds where one run timed both, else of the medians."""
    if peer is None or mine is None or peer.measured is None or mine.measured is None:
        return None
    # They are in different jobs if a worker was lost and a fresh one took the rest.
    found, _ = compare(peer.measured.time, mine.measured.time, in_turn=peer.job == mine.job)
    return found


def heading(session: Session, benchmark: str, arguments: Sequence[str]) -> str:
    """The machine, the packages, the date and the command."""
    machines = [f"{device.name} (driver {device.driver_version})" for device in session.devices]
    packages = [f"{name} {found}" for name in _PACKAGES if (found := version(session, name))]
    command = shlex.join(["python3", "main.py", "-m", f"roofscope.benchmarks.{benchmark}", *arguments])
    where = ", ".join([*(machines or ["unknown device"]), *packages])
    return f"{where}; {session.created_at[:10]}, `{command}`.{_about_eager(session)}\n"


def _about_eager(session: Session) -> str:
    """A sentence where torch takes other people's kernels for its own, so that eager is one of the peers."""
    torch, dsl = version(session, "torch") or "", version(session, "nvidia-cutlass-dsl")
    if not torch.startswith("2.15.") or dsl not in _KNOWN_TO_TORCH:
        return ""
    return f" With nvidia-cutlass-dsl {dsl} torch runs its copy of QuACK for eager's RMS norm."


def markdown(found: Sequence[Found]) -> Iterator[str]:
    """The table's lines, then one line for each reason why implementations have no time."""
    yield _joined(HEADER)
    yield _joined(["---", "---", *["---:"] * 8, "---", "---"])
    for one in found:
        yield _joined(_cells(one))
    if absent := list(_absent(one.line for one in found)):
        yield ""
        yield from absent


def _cells(one: Found) -> Iterator[str]:
    line, session = one.line, one.session
    best = line.fastest(*OURS)
    workload = line.job.workload
    yield line.row.name
    yield f"{workload.kernel} {workload.dtype} {size_and_fill_text(workload)}"
    for provider in OURS:
        yield named(line.fastest(provider), best)
    for provider in (Provider.EAGER, Provider.COMPILE):
        yield time_of(line.fastest(provider))
    libraries = [p for p in line.points if p.measured and p.implementation.provider is Provider.LIBRARY]
    yield ", ".join(named(point) for point in libraries)
    judged = verdict(best, session) if best else None
    yield _rate(best, memory=not judged or judged.limiter is None or judged.limiter.bound.is_memory)
    yield share_text(judged) if judged else percent_text(None)
    found = peer_over_ours(line.fastest(*PEERS), best)
    ratio = f"{found.ratio:.3f} ({range_text(found.low, found.high)})" if found else ""
    yield ratio if line.row.has_serious_peer else f"{ratio}, no serious peer".removeprefix(", ")
    results = judgements(one)
    yield "; ".join(result.goal.text for result in results)
    yield "; ".join(result.text for result in results)


def _median_s(point: Point) -> float:
    return point.measured.time.median_s if point.measured else math.inf


def time_of(point: Point | None) -> str:
    return time_text(point.measured.time.median_s) if point and point.measured else ""


def named(point: Point | None, best: Point | None = None) -> str:
    if point is None:
        return ""
    text = f"{point.implementation.variant.replace('_', ' ')} {time_of(point)}"
    return f"**{text}**" if best and point.number == best.number else text


def _rate(point: Point | None, *, memory: bool) -> str:
    if point is None:
        return ""
    return bandwidth_text(point.achieved_bandwidth) if memory else flop_rate_text(point.achieved_flop_rate)


def _absent(lines: Iterable[Line]) -> Iterator[str]:
    """One line a reason: the implementations and data types without a time."""
    without_time: dict[str, list[str]] = {}
    for line in lines:
        for point in line.points:
            if not isinstance(point.outcome, Measured | Examined):
                where = f"{point.implementation.key} {line.job.workload.dtype}"
                without_time.setdefault(point.outcome.message, []).append(where)
        present = {point.implementation.stem for point in line.points}
        for implementation in line.job.implementations:
            if implementation.stem not in present:
                without_time.setdefault("Not run.", []).append(implementation.key)
    for reason, implementations in without_time.items():
        yield f"- {', '.join(dict.fromkeys(implementations))}: {reason}"


def _joined(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
