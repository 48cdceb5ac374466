"""What the command line prints of an outcome and of a session."""

import io
import re
from functools import cache

import msgspec
import pytest
from rich.console import Console

from roofscope.app.cli.outcome_lines import OutcomeLines, outcome_line, skip_lines
from roofscope.app.cli.table import print_table, table_lines
from roofscope.app.presentation.comparison import speed_up_short_text
from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    error_text,
    flop_rate_text,
    percent_text,
    spread_text,
    time_text,
)
from roofscope.app.presentation.why import limited_by_text
from roofscope.profiling.analysis.advice.case import Cases
from roofscope.profiling.analysis.comparison import Baselines
from roofscope.profiling.analysis.verdict import flags_of, verdict
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.results.outcome import (
    BuildInfo,
    Failed,
    FailureKind,
    Flag,
    Method,
    Outcome,
    ProfiledKernel,
    SkipKind,
    Skipped,
    Stage,
)
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load
from roofscope.tests.recorded import kept
from roofscope.tests.sessions import make_session, measured

POINT = next(point for point in make_session().points if point.measured)


def printed(outcome: Outcome, width: int = 200) -> str:
    text = io.StringIO()
    line = outcome_line(msgspec.structs.replace(POINT, outcome=outcome), width, make_session())
    Console(file=text, width=width).print(line, highlight=False)
    return text.getvalue()


def test_a_failure_ends_with_the_end_of_its_log() -> None:
    log = "\n".join(f"a.cu({number}): error [E{number}]" for number in range(9)) + "\n\n"
    lines = printed(Failed(FailureKind.BUILD_ERROR, Stage.BUILD, "It was not built.", log)).splitlines()
    assert lines[0].endswith("build error: It was not built.")
    assert [line.strip() for line in lines[1:]] == [f"a.cu({n}): error [E{n}]" for n in range(4, 9)]
    assert len(printed(Failed(FailureKind.TIMEOUT, Stage.BUILD, "Too slow.")).splitlines()) == 1


def test_only_a_time_that_means_something_gets_a_tick() -> None:
    steady, wide = measured(1e-3), measured(1e-3, half_width=0.5, flags=(Flag.UNSTABLE,))
    wide = msgspec.structs.replace(
        wide, time=msgspec.structs.replace(wide.time, low_s=0.13e-3, high_s=7.8e-3)
    )
    assert printed(steady).startswith("✓")
    assert ": 1.000 ms ± 0.60 %," in printed(steady)
    assert printed(wide).startswith("!")
    assert ": 1.000 ms (130 µs to 7.8 ms)," in printed(wide)


def test_a_time_that_cannot_be_gets_no_tick_but_its_flag() -> None:
    above, remembers = measured(1e-9), measured(1e-3, flags=(Flag.REMEMBERS,))
    disagrees = msgspec.structs.replace(measured(1e-3), kernels=(ProfiledKernel("longer", 1.0, 2e-3),))
    for outcome, flag in (
        (above, Flag.ABOVE_ROOF),
        (remembers, Flag.REMEMBERS),
        (disagrees, Flag.PROFILER_DISAGREES),
    ):
        assert printed(outcome).startswith("!")
        assert printed(outcome).rstrip().endswith(flag)


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_a_line_too_long_is_parted_between_figures_only(width: int) -> None:
    figures = printed(measured(1e-3)).strip().split(": ")[1].split(", ")
    assert len(figures) == 3
    lines = printed(measured(1e-3), width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(any(figure in line for line in lines) for figure in figures)


RECORDED = ("h200", "h200-gelu", "h200-tour")
WIDTHS = (40, 60, 80, 100, 140, 200)
IN_A_PIPE = 100_000


@cache
def recorded(name: str) -> Session:
    return load(kept(name))


@cache
def cells_of(name: str) -> list[dict[str, str]]:
    """The figures of every measured point, by the title of their column."""
    session = recorded(name)
    baselines, cases = Baselines(session.points), Cases(session)
    found: list[dict[str, str]] = []
    for point in session.points:
        if point.measured:
            time, speed_up = point.measured.time, baselines.speed_up(point)
            largest = point.measured.verification.largest
            found.append(
                {
                    "time": time_text(time.median_s),
                    "95 % CI": spread_text(time.median_s, time.bounds_s, len(time.samples_s)),
                    "speed-up": speed_up_short_text(speed_up) if speed_up else MISSING,
                    "of roof": percent_text(verdict(point, session).fraction_of_roof),
                    "limited by": limited_by_text(point, verdict(point, session), cases),
                    "bandwidth": bandwidth_text(point.achieved_bandwidth),
                    "rate": flop_rate_text(point.achieved_flop_rate or None),
                    "error": error_text(point.measured.verification.relative_error),
                    "max error": error_text(largest.absolute if largest else None),
                    "flags": ", ".join(flags_of(point, session)),
                }
            )
    return found


def printed_rows(lines: list[str]) -> list[dict[str, str]]:
    """What a reader sees, by the titles in the first line of the table; flags in words again."""
    at = next(number for number, line in enumerate(lines) if line.startswith("impl"))
    end = next((n for n, line in enumerate(lines) if re.match("Flags: |Left out|.* skipped: ", line)), None)
    _, *titles = re.split(" {2,}", lines[at])
    legend = " ".join(line.strip() for line in lines[end:])
    words = dict(re.findall(r"\b([a-z]) ([a-z][a-z -]+)", legend.removeprefix("Flags:").split(".")[0]))
    rows: list[dict[str, str]] = []
    for line in lines[at + 1 : end]:
        cells = re.split(" {2,}", line)
        if len(cells) < 3:
            continue  # a heading
        row = dict.fromkeys(titles, "") | dict(zip(titles, cells[2:], strict=False))
        if words and row.get("flags"):
            row["flags"] = ", ".join(words[letter] for letter in row["flags"].split())
        rows.append(row)
    return rows


@pytest.mark.parametrize("width", [*WIDTHS, IN_A_PIPE])
@pytest.mark.parametrize("name", RECORDED)
def test_every_figure_is_whole_or_its_column_is_named_as_left_out(name: str, width: int) -> None:
    lines = [line for text in table_lines(recorded(name), width) for line in text.plain.splitlines()]
    rows, expected = printed_rows(lines), cells_of(name)
    assert len(rows) == len(expected)
    for row, cells in zip(rows, expected, strict=True):
        assert row == {title: cells[title] for title in row}
    prose = " ".join(line.strip() for line in lines)
    left_out = re.search(r"Left out for want of room: (.*?)\. ", prose)
    named = left_out[1].split(", ") if left_out else []
    filled = {title for cells in expected for title, cell in cells.items() if cell not in ("", MISSING)}
    assert {*rows[0], *named} == filled
    assert max(map(len, lines)) <= width
    if width == IN_A_PIPE:
        assert not named
        assert "…" not in prose


def test_a_table_is_as_wide_as_its_console() -> None:
    text = io.StringIO()
    print_table(Console(file=text, width=60), recorded("h200-gelu"))
    assert text.getvalue().splitlines() == [
        line
        for found in table_lines(recorded("h200-gelu"), 60)
        for line in (found.plain.splitlines() or [""])
    ]


def test_a_speed_up_across_methods_has_a_mark_that_a_line_below_explains() -> None:
    session = make_session()
    softmax = [p for p in session.points if p.measured and p.implementation.kernel == "softmax"]
    eager = next(p for p in softmax if p.implementation.provider is Provider.EAGER)
    other = next(p for p in softmax if p is not eager and p.job == eager.job)
    assert other.measured
    queued = msgspec.structs.replace(other.measured, method=Method.EVENTS)
    session.points = (eager, msgspec.structs.replace(other, outcome=queued))
    lines = [line.plain for line in table_lines(session, IN_A_PIPE)]
    [row] = [line for line in lines if other.implementation.label in line]
    assert " †" in row
    assert "host time inside" in row
    assert lines[-1] == (
        "† Timed by different methods: the baseline by cuda graph, this one by events. "
        "The one by events has the host's time inside."
    )
    session.points = (eager, other)
    assert not any("†" in line.plain for line in table_lines(session, IN_A_PIPE))


def test_modes_of_torch_compile_are_compared_below() -> None:
    point = next(p for p in make_session().points if p.measured and p.implementation.kernel == "softmax")
    outcome = msgspec.structs.replace(
        measured(1e-3), build=BuildInfo(12.34, graph_count=1), kernels=(), host_s=None
    )
    modes = tuple(
        msgspec.structs.replace(
            point,
            implementation=Implementation("softmax", Provider.COMPILE, mode, "hash"),
            outcome=outcome,
        )
        for mode in ("default", "max_autotune")
    )
    session = make_session()
    session.points = modes
    lines = [line.plain for line in table_lines(session, 60)]
    at = next(number for number, line in enumerate(lines) if line.startswith("torch.compile"))
    assert lines[at].split() == ["torch.compile", "compiling", "graphs"]
    assert lines[at + 2].split() == ["torch.compile", "12.34", "s", "1"]
    assert lines[at + 3].split() == ["compile", "max", "autotune", "12.34", "s", "1"]
    session.points = modes[:1]
    assert not any(line.plain.startswith("torch.compile") for line in table_lines(session, 60))


NO_GPU = Skipped(SkipKind.UNAVAILABLE, "Triton kernels need an NVIDIA GPU; this run is on the CPU.")


def skipped(provider: Provider, variant: str, outcome: Outcome = NO_GPU) -> Point:
    implementation = Implementation("softmax", provider, variant, "hash")
    return msgspec.structs.replace(POINT, implementation=implementation, outcome=outcome)


def test_the_skips_of_a_provider_are_one_line() -> None:
    too_large = Skipped(SkipKind.TOO_LARGE, "It takes rows of up to 65536 columns.")
    points = [
        skipped(Provider.TRITON, "online"),
        skipped(Provider.TRITON, "tiles"),
        skipped(Provider.TRITON, "tiles"),  # at another size
        skipped(Provider.LIBRARY, "liger", too_large),
        POINT,
    ]
    assert skip_lines(points) == [
        f"triton: 2 implementations skipped: {NO_GPU.message}",
        f"softmax / Liger-Kernel skipped: {too_large.message}",
    ]


def test_while_a_run_goes_on_a_reason_is_given_once_a_provider() -> None:
    session = make_session()
    lines = OutcomeLines(200, session)
    first = skipped(Provider.TRITON, "online")
    assert lines.of(first) == outcome_line(first, 200, session)
    assert lines.of(skipped(Provider.TRITON, "tiles")) is None
    assert lines.of(skipped(Provider.CUDA, "naive")) is not None
    assert lines.of(skipped(Provider.TRITON, "tiles", Skipped(SkipKind.PAUSED, "It hung."))) is not None
    assert lines.of(POINT) == lines.of(POINT) == outcome_line(POINT, 200, session)


def test_points_of_one_name_are_told_apart_by_their_numbers() -> None:
    """Edits of a file have one name; ``why`` and ``compare`` take the number."""
    lines = [line.plain for line in table_lines(load(ASSETS / "sessions" / "h200-agent.roofscope"), 200)]
    assert sum(line.lstrip().startswith("Triton gelu (point ") for line in lines) == 4
    assert any(line.lstrip().startswith("eager PyTorch  ") for line in lines)
