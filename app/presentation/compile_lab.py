"""The torch.compile laboratory: modes side by side by workload, what each cost, whether it is worth it."""

import re
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from roofscope.app.presentation.comparison import speed_up_short_text
from roofscope.app.presentation.formatting import (
    MISSING,
    break_even_text,
    count_text,
    counted_text,
    memory_text,
    range_text,
    ratio_text,
    si_text,
    size_and_fill_text,
    time_text,
)
from roofscope.app.presentation.point_row import reason_text, status_text
from roofscope.profiling.analysis.advice.compile_pays_not import WORTH_COMPILING
from roofscope.profiling.analysis.comparison import Baselines, BreakEven, Payback, SpeedUp, comparable
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.planning.catalog import COMPILE_MODES
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import CodeNote, Measured
from roofscope.profiling.results.session import Point, Session

__all__ = ["COLUMNS", "WORTH_COMPILING", "Laboratory", "Mode", "Worth", "laboratories"]

COLUMNS = (
    ("Time", "Median device time of a call"),
    ("Speed-up", "Over eager, with its 95 % interval"),
    ("By wall", "Eager's time over this one's as a program waits: host or device, the longer"),
    ("Compiling", "What the compiler took"),
    ("Graphs", "That Dynamo made of a call"),
    ("Breaks", "Where Python steps in between two graphs"),
    ("Recompiles", "Of the same code, for other shapes or values"),
    ("Kernels", "That a call launches"),
    ("Temporary", "Most memory of tensors that are neither inputs nor outputs"),
    ("Pays by wall", "Calls until what they save over eager is the compile time, by wall time"),
    ("In a graph", "The same inside a CUDA graph, where the device's time alone counts"),
)


class Worth(StrEnum):
    """Whether compiling is worth it: 1.2 times as fast as eager, and by wall time too."""

    YES = "yes"
    NO = "no"
    IN_GRAPH = "only inside a CUDA graph"  # on the device it is, but a program waits for the host
    OPEN = "too close to tell"  # the interval holds the line
    UNKNOWN = "not known"


class Mode(Struct, frozen=True):
    """One mode of torch.compile on one workload, measured or not."""

    name: str  # "default", "reduce-overhead"
    number: int  # of its point
    worth: Worth
    status: str  # "measured", or why it has no time
    reason: str  # a sentence, where it has none or was timed another way
    median_s: float | None = None
    ratio: float | None = None  # eager's device time over this one's
    low: float | None = None
    high: float | None = None
    wall_ratio: float | None = None
    compile_s: float | None = None
    is_cached: bool = False  # found compiled on disk, which makes the compile time say little
    graph_count: int | None = None
    graph_breaks: int | None = None
    recompiles: int | None = None
    kernel_calls: float | None = None
    temporary_bytes: int | None = None
    pays_by_wall: float | None = None  # calls; infinite: never
    pays_in_graph: float | None = None
    speed_text: str = MISSING
    breaks: tuple[CodeNote, ...] = ()
    causes: tuple[CodeNote, ...] = ()  # of recompiles

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of COLUMNS."""
        cached = " cached" if self.is_cached else ""
        return (
            time_text(self.median_s) if self.median_s is not None else self.status,
            self.speed_text,
            ratio_text(self.wall_ratio),
            f"{si_text(self.compile_s, 's')}{cached}" if self.compile_s is not None else MISSING,
            count_text(self.graph_count),
            count_text(self.graph_breaks),
            count_text(self.recompiles),
            f"{self.kernel_calls:.3g}" if self.kernel_calls else MISSING,
            memory_text(self.temporary_bytes),
            break_even_text(self.pays_by_wall),
            break_even_text(self.pays_in_graph),
        )


class Laboratory(Struct, frozen=True):
    """A workload that torch.compile was tried on."""

    kernel: str
    workload: str  # "bf16 32Ki × 4Ki"
    eager_s: float | None
    eager_kernels: float | None
    eager_temporary_bytes: int | None
    modes: tuple[Mode, ...]  # in the order of torch's own list

    @property
    def best(self) -> Mode | None:
        """The fastest on the device of those that compare with eager; None where no mode has a time."""
        timed = [mode for mode in self.modes if mode.median_s is not None]
        compared = [mode for mode in timed if mode.ratio is not None]
        return min(compared or timed, key=lambda mode: mode.median_s or 0.0, default=None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Each graph break and each guard that failed, with its line and the modes that met it."""
        return _notes(self.modes)

    @property
    def worth(self) -> Worth:
        """Of the mode that fares best: any that is worth it makes compiling worth it."""
        found = {mode.worth for mode in self.modes}
        return next((worth for worth in _BEST_FIRST if worth in found), Worth.UNKNOWN)

    @property
    def sentence(self) -> str:
        """Whether to compile, with the figure that says so."""
        return _sentence(self)


_BEST_FIRST = (Worth.YES, Worth.OPEN, Worth.IN_GRAPH, Worth.NO)


def laboratories(session: Session) -> tuple[Laboratory, ...]:
    """One of each workload with a compiled implementation, in the order of the session."""
    of_workload: dict[str, list[Point]] = {}
    for point in session.points:
        of_workload.setdefault(comparable(point), []).append(point)
    compiled = {key: points for key, points in of_workload.items() if any(map(_is_compiled, points))}
    return tuple(_laboratory(points) for points in compiled.values())


def _is_compiled(point: Point) -> bool:
    return point.implementation.provider is Provider.COMPILE


def _laboratory(points: list[Point]) -> Laboratory:
    baselines, break_even = Baselines(points), BreakEven(points)
    newest = {point.implementation.variant: point for point in points if _is_compiled(point)}
    order = sorted(newest, key=lambda variant: (_place(variant), variant))
    first = newest[order[0]]
    eager = baselines.of(first)
    measured = eager.measured if eager and eager.implementation.provider is Provider.EAGER else None
    memory = measured.memory if measured else None
    return Laboratory(
        kernel=first.job.workload.kernel,
        workload=f"{first.job.workload.dtype.label} {size_and_fill_text(first.job.workload)}",
        eager_s=measured.time.median_s if measured else None,
        eager_kernels=_kernel_calls(measured) if measured else None,
        eager_temporary_bytes=memory.temporary_bytes if memory else None,
        modes=tuple(
            _mode(point, measured, baselines.speed_up(point), break_even.calls(point))
            for point in (newest[variant] for variant in order)
        ),
    )


def _place(variant: str) -> int:
    return COMPILE_MODES.index(variant) if variant in COMPILE_MODES else len(COMPILE_MODES)


def _mode(point: Point, eager: Measured | None, speed: SpeedUp | None, payback: Payback) -> Mode:
    name, measured = point.implementation.variant.replace("_", "-"), point.measured
    status, reason = status_text(point), one_line(reason_text(point))
    if measured is None:
        return Mode(name, point.number, Worth.UNKNOWN, status, reason)
    build, notes = measured.build, measured.build.compile_notes
    is_over_eager = speed is not None and eager is not None and speed.is_known
    wall = _wall_ratio(eager, measured)
    return Mode(
        name=name,
        number=point.number,
        worth=_worth(speed, wall) if speed and is_over_eager else Worth.UNKNOWN,
        status=status,
        reason=reason,
        median_s=measured.time.median_s,
        ratio=speed.ratio if speed and is_over_eager else None,
        low=speed.low if speed and is_over_eager else None,
        high=speed.high if speed and is_over_eager else None,
        wall_ratio=wall,
        compile_s=build.compile_s,
        is_cached=bool(build.cached_graphs),
        graph_count=build.graph_count,
        graph_breaks=build.graph_breaks,
        recompiles=build.recompiles,
        kernel_calls=_kernel_calls(measured),
        temporary_bytes=measured.memory.temporary_bytes if measured.memory else None,
        pays_by_wall=payback.by_wall,
        pays_in_graph=payback.in_graph,
        speed_text=speed_up_short_text(speed) if speed else MISSING,
        breaks=notes.breaks if notes else (),
        causes=notes.recompiles if notes else (),
    )


def _worth(speed: SpeedUp, wall_ratio: float | None) -> Worth:
    if speed.high < WORTH_COMPILING:
        return Worth.NO
    if speed.low < WORTH_COMPILING:
        return Worth.OPEN
    return Worth.IN_GRAPH if wall_ratio is not None and wall_ratio < WORTH_COMPILING else Worth.YES


def _wall_ratio(eager: Measured | None, measured: Measured) -> float | None:
    before, after = eager.wall if eager else None, measured.wall
    return before.seconds / after.seconds if before and after and after.seconds else None


def _kernel_calls(measured: Measured) -> float | None:
    return sum(kernel.calls for kernel in measured.kernels) if measured.kernels else None


def _notes(modes: tuple[Mode, ...]) -> tuple[str, ...]:
    """What several modes met is said once; a guard on a value names another value each time."""
    met: dict[tuple[bool, str, int, str], tuple[CodeNote, list[str]]] = {}
    for mode in modes:
        for is_break, notes in ((True, mode.breaks), (False, mode.causes)):
            for note in notes:
                key = is_break, note.file, note.line, _VALUE.sub("", note.reason)
                names = met.setdefault(key, (note, []))[1]
                if mode.name not in names:
                    names.append(mode.name)
    return tuple(_note(note, names, is_break=key[0]) for key, (note, names) in met.items())


_VALUE = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def _note(note: CodeNote, modes: list[str], *, is_break: bool) -> str:
    where = f" at {one_line(note.file)}:{note.line}" if note.file and note.line else ""
    code = f" ({one_line(note.code)})" if note.code else ""
    happens = "the graph breaks" if is_break else "it was compiled again, because a guard failed,"
    in_modes = f"Mode{'s' if len(modes) > 1 else ''} {', '.join(modes)}"
    return f"{in_modes}: {happens}{where}{code}: {one_line(note.reason).rstrip('.')}."


def _sentence(lab: Laboratory) -> str:
    best, worth = lab.best, lab.worth
    line = f"the line of {ratio_text(WORTH_COMPILING)}"
    if best is None:
        return "Worth compiling: not known, because no mode has a time."
    if best.ratio is None or best.low is None or best.high is None:
        why = "because eager was not measured beside it, or one of the two too briefly"
        return f"Worth compiling: not known, {why}."
    named = next((mode for mode in lab.modes if mode.worth is worth), best)
    shown = best if worth is Worth.NO else named
    low, high = shown.low or 0.0, shown.high or 0.0
    ratio = (
        f"mode {shown.name} is {ratio_text(shown.ratio)} as fast as eager (95 % CI {range_text(low, high)})"
    )
    match worth:
        case Worth.YES:
            return f"Worth compiling: yes. {_capital(ratio)}, above {line}{_saved(lab, shown)}."
        case Worth.IN_GRAPH:
            wall = f"as a program waits it is {ratio_text(shown.wall_ratio)}"
            return f"Worth compiling: {worth}. {_capital(ratio)} on the device, but {wall}."
        case Worth.OPEN:
            return f"Worth compiling: {worth}. {_capital(ratio)}, and the interval holds {line}."
        case _:
            return f"Worth compiling: no. {_capital(ratio)}, below {line}."


def _saved(lab: Laboratory, mode: Mode) -> str:
    """What fusing saved: kernels, and memory where both are known."""
    parts: list[str] = []
    if lab.eager_kernels and mode.kernel_calls and round(lab.eager_kernels) > round(mode.kernel_calls):
        parts.append(f"{mode.kernel_calls:.3g} for {lab.eager_kernels:.3g} kernels")
    if lab.eager_temporary_bytes and mode.temporary_bytes is not None:
        before, after = memory_text(lab.eager_temporary_bytes), memory_text(mode.temporary_bytes)
        parts.append(f"{after} for {before} of temporary memory")
    return f": {', '.join(parts)}" if parts else ""


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def summary_text(labs: Iterable[Laboratory]) -> str:
    """One sentence on all: ``Compiling is worth it for 26 of 56 workloads``."""
    known = [lab for lab in labs if lab.worth is not Worth.UNKNOWN]
    worth = sum(lab.worth is Worth.YES for lab in known)
    if not known:
        return "No workload of this session was compiled and run by eager, both for long enough to tell."
    return f"Compiling is worth it for {worth} of {counted_text(len(known), 'workload')}."
