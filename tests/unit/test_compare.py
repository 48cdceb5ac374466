"""Points beside each other: pins, two sessions, the edits of one implementation."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.presentation.compare.arrows import pins_on_chart
from roofscope.app.presentation.compare.table import (
    COLUMNS,
    history_table,
    pins_table,
    ratio_cell,
    regression_sentence,
    sessions_table,
)
from roofscope.app.presentation.roofline.points import all_points
from roofscope.app.presentation.roofline.scene import ChartOptions, build_scene
from roofscope.app.presentation.roofline.svg import roofline_svg
from roofscope.profiling.analysis.between_runs import USUAL
from roofscope.profiling.analysis.comparison import compare
from roofscope.profiling.analysis.pairs import (
    Change,
    history_of,
    pairs_of_pins,
    pairs_of_sessions,
    regressions,
)
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.outcome import Failed, FailureKind, Stage, TimeStats
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.recorded import kept
from roofscope.tests.sessions import make_session

TOUR = kept("h200-tour")


def titled(name: str) -> int:
    return next(index for index, column in enumerate(COLUMNS) if column.title == name)


def slowed(time: TimeStats, factor: float) -> TimeStats:
    return replace(
        time,
        median_s=time.median_s * factor,
        low_s=time.low_s * factor,
        high_s=time.high_s * factor,
        samples_s=tuple(sample * factor for sample in time.samples_s),
    )


def changed(session: Session, change: Callable[[Point], Point]) -> Session:
    """As measured again later, with some points changed."""
    later = "2026-02-03T04:05:06.000+00:00"
    points = tuple(change(replace(point, recorded_at=later)) for point in session.points)
    return Session(
        **{**{name: getattr(session, name) for name in Session.__struct_fields__}, "points": points}
    )


def slower(session: Session, number: int, factor: float) -> Session:
    def change(point: Point) -> Point:
        if point.number != number or point.measured is None:
            return point
        return replace(point, outcome=replace(point.measured, time=slowed(point.measured.time, factor)))

    return changed(session, change)


@pytest.fixture
def session() -> Session:
    return make_session()


def measured(session: Session) -> list[Point]:
    return [point for point in session.points if point.measured]


def pinned(session: Session, *numbers: int) -> Session:
    session.marks = {
        number: Mark(pinned_at=f"2026-01-02T03:04:{rank:02}.000+00:00") for rank, number in enumerate(numbers)
    }
    return session


def test_a_copy_of_a_session_holds_the_same_measurements(session: Session) -> None:
    found = pairs_of_sessions(session, session)
    assert {pair.change for pair in found.pairs} == {Change.SAME}
    assert (found.only_a, found.only_b) == (0, 0)
    table = sessions_table(session, session)
    assert {row.cells[titled("Ratio")] for row in table.rows} == {"–"}
    assert not any("apart" in note for note in table.notes)


def test_two_sessions_are_compared_by_their_medians_as_measured_apart(session: Session) -> None:
    number = measured(session)[0].number
    later = slower(session, number, 1.5)
    found = pairs_of_sessions(session, later)
    pair = next(pair for pair in found.pairs if pair.a.point.number == number)
    assert pair.change is Change.SLOWER
    assert pair.common_rounds == 0  # their jobs are alike, but were not one
    assert pair.ratio
    assert pair.ratio.ratio == pytest.approx(1 / 1.5)
    others = [pair for pair in found.pairs if pair.a.point.number != number]
    assert {pair.change for pair in others} == {Change.ALIKE}
    times = [pair.a.point.measured.time for pair in (pair,) if pair.a.point.measured]
    alone, _ = compare(times[0], slowed(times[0], 1.5), in_turn=False)
    assert pair.ratio.low < alone.low  # all comparisons hold together
    table = sessions_table(session, later)
    assert any(note.startswith("Measured apart") for note in table.notes)
    assert any(note.startswith(f"{len(found.pairs)} comparisons") for note in table.notes)
    row = next(row for row in table.rows if row.number_a == number)
    assert (row.cells[titled("B is")], row.state, row.number_b) == ("slower", "bad", None)
    assert row.cells[titled("Ratio")].startswith("0.667× (0.6")


def test_two_kinds_of_gpu_are_compared_by_the_share_of_their_own_roofs(session: Session) -> None:
    number = measured(session)[0].number
    other = slower(session, number, 1.2)
    assert session.device
    device = replace(session.device, name="NVIDIA H100", uuid="GPU-other")
    other.device, other.origins = device, ()
    session.origins = ()
    other.ceilings = tuple(replace(ceiling, value=ceiling.value / 1.5) for ceiling in other.ceilings)
    found = pairs_of_sessions(session, other)
    assert all(pair.is_by_roof for pair in found.pairs)
    pair = next(pair for pair in found.pairs if pair.a.point.number == number)
    assert pair.ratio
    assert pair.ratio.ratio == pytest.approx(1.5 / 1.2)
    assert pair.change is Change.NEARER  # slower, and yet nearer to the lower roof
    assert pair.ratio.low < pair.ratio.ratio < pair.ratio.high
    assert ratio_cell(pair).endswith("of roof")
    notes = " ".join(sessions_table(session, other).notes)
    assert "NVIDIA H200 and NVIDIA H100 are two kinds of device" in notes
    assert "of its own roof, and not by time" in notes


def test_two_of_a_kind_are_said_to_be_two(session: Session) -> None:
    other = slower(session, 1, 1.0)
    assert session.device
    session.origins = other.origins = ()
    other.device = replace(session.device, uuid="GPU-twin")
    assert "two NVIDIA H200, not on the same one" in " ".join(sessions_table(session, other).notes)
    assert not any(pair.is_by_roof for pair in pairs_of_sessions(session, other).pairs)


def test_unchanged_sources_tell_how_much_comes_from_measuring_apart(session: Session) -> None:
    later = session
    for rank, point in enumerate(measured(session)[:3], start=1):
        later = slower(later, point.number, 1 + rank / 100)
    notes = " ".join(sessions_table(session, later).notes)
    assert "rows of unchanged source differ by" in notes
    assert "at most: so much comes from measuring apart" in notes


def drifted(session: Session, factors: tuple[float, ...], edited: int, by: float) -> Session:
    """Measured again: unchanged rows are slower by these factors in turn, one edited row by its own."""
    order = {point.number: rank for rank, point in enumerate(measured(session))}

    def change(point: Point) -> Point:
        if point.measured is None:
            return point
        is_edited = point.number == edited
        factor = by if is_edited else factors[order[point.number] % len(factors)]
        made = replace(point.implementation, source_hash="e" * 64) if is_edited else point.implementation
        outcome = replace(point.measured, time=slowed(point.measured.time, factor))
        return replace(point, implementation=made, outcome=outcome)

    return changed(session, change)


def test_what_unchanged_code_differs_by_is_no_slowness(session: Session) -> None:
    """An edit that is 0.7 % slower, where unchanged rows are slower by up to 0.8 %."""
    narrow = changed(session, lambda point: replace(point, recorded_at=point.recorded_at))
    edited = measured(session)[0].number

    def sharp(point: Point) -> Point:
        if point.measured is None:
            return point
        time = point.measured.time
        time = replace(time, low_s=time.median_s * 0.9999, high_s=time.median_s * 1.0001)
        return replace(point, outcome=replace(point.measured, time=time))

    before = changed(narrow, sharp)
    later = drifted(before, (0.996, 1.004, 1.008, 1.002), edited, 1.007)
    found = pairs_of_sessions(before, later)
    pair = next(pair for pair in found.pairs if pair.a.point.number == edited)
    raw, _ = compare(
        pair.a.point.measured.time, pair.b.point.measured.time, in_turn=False, comparisons=len(found.pairs)
    )
    assert raw.distinguishable  # as of one run
    assert {each.change for each in found.pairs} == {Change.ALIKE}
    assert regressions(found.pairs, 0) == []
    assert pair.between_runs > found.apart.most > 0
    assert "and each interval holds" in " ".join(sessions_table(before, later).notes)
    slow = pairs_of_sessions(before, drifted(before, (0.996, 1.004, 1.008, 1.002), edited, 1.1)).pairs
    assert [each.a.point.number for each in regressions(slow, 0)] == [edited]


def test_one_slow_row_excuses_no_other(session: Session) -> None:
    """The middle of the unchanged rows counts: after an update of a compiler all are unchanged."""
    first, second, *_ = measured(session)
    later = slower(slower(session, first.number, 3.0), second.number, 1.5)
    assert {each.a.point.number for each in regressions(pairs_of_sessions(session, later).pairs, 5)} == {
        first.number,
        second.number,
    }


def test_where_nothing_says_how_far_runs_lie_apart_the_recorded_figure_counts(session: Session) -> None:
    point = measured(session)[0]
    time = point.measured.time
    sharp = replace(time, low_s=time.median_s * 0.9999, high_s=time.median_s * 1.0001)
    one = replace(point, outcome=replace(point.measured, time=sharp))
    session.points = (one,)
    assert [p.change for p in pairs_of_sessions(session, slower(session, one.number, 1.01)).pairs] == [
        Change.ALIKE
    ]
    [pair] = pairs_of_sessions(session, slower(session, one.number, 1.03)).pairs
    assert pair.change is Change.SLOWER
    assert pytest.approx(pair.between_runs, rel=0.01) == USUAL
    [alone] = [note for note in sessions_table(session, slower(session, 1, 1.03)).notes if "apart" in note]
    assert alone.endswith("the intervals hold 1.5 % for what two runs of unchanged code differ by.")


def failed(session: Session, number: int) -> Session:
    def fail(point: Point) -> Point:
        gone = Failed(FailureKind.WRONG_VALUES, Stage.VERIFY, "It is wrong at row 3.")
        return replace(point, outcome=gone) if point.number == number else point

    return changed(session, fail)


def test_a_pin_without_a_time_is_listed_with_its_reason(session: Session) -> None:
    first, second, *_ = [p for p in measured(session) if p.implementation.kernel == "softmax"]
    broken = pinned(failed(session, first.number), first.number, second.number)
    [pair] = pairs_of_pins(broken)
    assert (pair.a.point.number, pair.b.point.number if pair.b else None) == (second.number, first.number)
    assert pair.change is Change.FAILS
    table = pins_table(broken)
    assert table.rows[0].cells[titled("Time B")] == str(FailureKind.WRONG_VALUES)
    assert table.rows[0].state == "bad"
    assert any(note.endswith("It is wrong at row 3.") for note in table.notes)
    alone = pins_table(pinned(broken, first.number))
    assert alone.rows[0].cells[titled("Time A")] == str(FailureKind.WRONG_VALUES)
    assert any(note.endswith("It is wrong at row 3.") for note in alone.notes)


def test_what_could_not_be_measured_before_and_is_now_is_a_row(session: Session) -> None:
    number = measured(session)[0].number
    found = pairs_of_sessions(failed(session, number), session).pairs
    [pair] = [pair for pair in found if pair.a.point.number == number]
    assert pair.change is Change.ONLY_NOW
    assert regressions([pair], 0) == []


def test_two_kinds_of_device_are_never_two_of_the_first(session: Session) -> None:
    other = changed(session, lambda point: point)
    assert session.device
    session.origins = other.origins = ()
    other.device, other.points = replace(session.device, name="NVIDIA L4", uuid="GPU-other"), ()
    [note] = [note for note in sessions_table(session, other).notes if "kinds" in note]
    assert note == "A was measured on NVIDIA H200 and B on NVIDIA L4, which are two kinds of device."
    cpu = replace(session.device, kind=DeviceKind.CPU, name="AMD EPYC", uuid="cpu-1")
    session.device, other.device = cpu, replace(cpu, uuid="cpu-2")
    notes = sessions_table(session, other).notes
    assert "A and B were measured on two machines, each with one AMD EPYC." in notes


def test_what_fails_now_is_no_silence(session: Session) -> None:
    number = measured(session)[0].number

    def fail(point: Point) -> Point:
        failed = Failed(FailureKind.WRONG_VALUES, Stage.VERIFY, "It is wrong.")
        return replace(point, outcome=failed) if point.number == number else point

    later = changed(session, fail)
    found = pairs_of_sessions(session, later).pairs
    [failing] = regressions(found, 5)
    assert failing.change is Change.FAILS
    assert regression_sentence([failing], 5).startswith("1 point of A failed in B; the worst is ")


@pytest.mark.parametrize(("factor", "percent", "fails"), [(1.2, 5, True), (1.2, 25, False), (0.8, 0, False)])
def test_a_gate_fails_where_a_point_is_certainly_slower_by_more(
    session: Session, factor: float, percent: float, fails: bool
) -> None:
    later = slower(session, measured(session)[0].number, factor)
    found = regressions(pairs_of_sessions(session, later).pairs, percent)
    assert bool(found) is fails
    if fails:
        sentence = regression_sentence(found, percent)
        assert sentence.startswith("1 point is slower by more than 5 %; the worst is ")
        assert sentence.endswith("20 % slower.")


def test_the_first_pin_of_a_kernel_is_what_its_others_are_compared_with(session: Session) -> None:
    first = measured(session)[0]
    same = [p for p in measured(session) if p.job.workload == first.job.workload][1:3]
    elsewhere = next(p for p in measured(session) if p.implementation.kernel != first.implementation.kernel)
    pinned(session, first.number, elsewhere.number, *(point.number for point in same))
    pairs = pairs_of_pins(session)
    assert [(p.a.point.number, p.b.point.number if p.b else None) for p in pairs] == [
        *((first.number, point.number) for point in same),
        (elsewhere.number, None),
    ]
    table = pins_table(session)
    assert table.rows[-1].number_b is None
    assert "2 comparisons hold 95 % together." in table.notes
    assert pins_table(pinned(session)).notes[0].startswith("No point is pinned")


def test_pins_that_one_job_timed_in_turn_are_compared_round_by_round() -> None:
    session = load(TOUR)
    first = measured(session)[0]
    second = next(p for p in measured(session)[1:] if p.job == first.job)
    [pair] = pairs_of_pins(pinned(session, first.number, second.number))
    assert pair.common_rounds > 5
    assert not any("apart" in note for note in pins_table(session).notes)


def test_pins_of_different_sizes_are_compared_by_their_roofs(session: Session) -> None:
    first = measured(session)[0]
    other = next(
        p
        for p in measured(session)
        if p.implementation.kernel == first.implementation.kernel and p.job.workload != first.job.workload
    )
    [pair] = pairs_of_pins(pinned(session, first.number, other.number))
    assert pair.is_by_roof
    assert " / " in pins_table(session).rows[0].cells[titled("Workload")]


def test_the_history_of_an_implementation_counts_its_edits(session: Session) -> None:
    point = measured(session)[0]
    assert point.measured
    edits: list[Point] = []
    for rank, (source, factor) in enumerate((("aaaa" * 16, 0.9), ("aaaa" * 16, 0.9), ("bbbb" * 16, 0.5))):
        edits.append(
            replace(
                point,
                number=1000 + rank,
                recorded_at=f"2026-03-0{rank + 1}T00:00:00.000+00:00",
                job=replace(point.job, id=f"job-{1000 + rank}"),
                implementation=replace(point.implementation, source_hash=source),
                outcome=replace(point.measured, time=slowed(point.measured.time, factor)),
            )
        )
    session.points = (*session.points, *edits)
    assert [pair.is_edited for pair in history_of(session, point)] == [False, True, False, True]
    table = history_table(session, point)
    names = [row.cells[titled("Implementation")] for row in table.rows]
    assert [name.split(" (")[0] for name in names] == ["edit 1", "edit 2", "edit 2", "edit 3"]
    assert [row.cells[titled("B is")] for row in table.rows] == [
        "",
        "faster",
        "not distinguishable",
        "faster",
    ]
    assert table.notes[0].startswith("3 edits of")


def far_apart(points: list[Point]) -> tuple[Point, Point]:
    """Two of a workload, so far apart that an arrow between them has a line."""
    same = [p for p in points if p.job.workload == points[0].job.workload]
    ordered = sorted(same, key=lambda p: p.achieved_flop_rate or 0.0)
    return ordered[0], ordered[-1]


def test_pins_have_a_number_and_arrows_from_the_baseline_on_the_chart(session: Session) -> None:
    softmax = [p for p in measured(session) if p.implementation.kernel == "softmax"]
    first, other = far_apart(softmax)
    pinned(session, first.number, other.number)
    scene = build_scene(session, all_points(session))
    found = pins_on_chart(session, scene)
    assert [sign.rank for sign in found.signs] == [1, 2]
    [arrow] = found.arrows
    a, b = scene.point(first.number), scene.point(other.number)
    assert a
    assert b
    assert (arrow.start, arrow.end) == ((a.x, a.y), (b.x, b.y))
    assert first.measured
    assert other.measured
    ratio = first.measured.time.median_s / other.measured.time.median_s
    assert float(arrow.text.split("×")[0]) == pytest.approx(ratio, rel=0.01)
    assert " to " in arrow.text
    svg = roofline_svg(session)
    assert arrow.text in svg
    assert "stroke-dasharray" in svg[svg.index('class="pins"') :]
    only = ChartOptions(shown=frozenset({first.number}))
    assert pins_on_chart(session, build_scene(session, all_points(session), only)).arrows == ()
    assert arrow.text not in roofline_svg(session, options=only)
    assert 'class="pins"' not in roofline_svg(make_session())


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli, [str(word) for word in words])
    return result.exit_code, result.output


def test_two_recorded_sessions_are_compared_from_the_command_line() -> None:
    code, output = run("compare", ASSETS / "sessions" / "h200-gelu.roofscope", TOUR)
    assert code == 0
    assert "gelu fp32 64Mi" in output
    assert "Measured apart" in output
    code, output = run("compare", ASSETS / "sessions" / "h200.roofscope", TOUR, "--fail-slower", "2")
    assert code == 1
    assert "slower by more than 2 %; the worst is softmax bf16 32Ki × 4Ki, Triton registers" in output
    assert run("compare", ASSETS / "sessions" / "h200.roofscope", TOUR, "--fail-slower", "50")[0] == 0


def test_a_gate_that_compared_nothing_does_not_pass(tmp_path: Path) -> None:
    empty = tmp_path / "empty.roofscope"
    SessionStore.create(empty).close()
    code, output = run("compare", empty, TOUR, "--fail-slower", "2")
    assert code == 3
    assert "Nothing could be compared" in output
    assert run("compare", empty, TOUR)[0] == 0


def test_the_document_has_every_pair(tmp_path: Path) -> None:
    code, output = run("compare", ASSETS / "sessions" / "h200.roofscope", TOUR, "--json")
    assert code == 0
    document = json.loads(output)
    expected = pairs_of_sessions(load(ASSETS / "sessions" / "h200.roofscope"), load(TOUR)).pairs
    assert len(document["pairs"]) == len(expected) > 20
    first, pair = document["pairs"][0], expected[0]
    assert pair.ratio
    assert math.isclose(first["ratio"], pair.ratio.ratio)
    assert (first["by"], first["change"]) == ("time", pair.change)
    assert document["b"]["session"] == str(TOUR)


def test_the_history_says_which_edits_gave_no_time(session: Session) -> None:
    point = measured(session)[0]
    broken = replace(
        point,
        number=1000,
        recorded_at="2026-03-01T00:00:00.000+00:00",
        implementation=replace(point.implementation, source_hash="cccc" * 16),
        outcome=Failed(FailureKind.BUILD_ERROR, Stage.BUILD, "a.cu does not compile."),
    )
    session.points = (*session.points, broken)
    table = history_table(session, point)
    assert len(table.rows) == 1
    assert "No time at 2026-03-01 00:00 (ccccccc): build error; a.cu does not compile." in table.notes
    only = history_table(make_only(session, broken), broken)
    assert [note for note in only.notes if note.startswith("No time at")]


def make_only(session: Session, point: Point) -> Session:
    session.points = (point,)
    return session


def test_pins_and_history_of_one_session_are_printed(tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    path.write_bytes(TOUR.read_bytes())
    assert run("compare", path)[1].startswith("No point is pinned")
    points = [p for p in load(path).points if p.implementation.kernel == "softmax" and p.measured]
    with SessionStore.append(path) as store:
        for rank, point in enumerate(points[:2]):
            store.add_mark(point.number, Mark(pinned_at=f"2026-01-02T03:04:0{rank}.000+00:00"))
    code, output = run("compare", path)
    assert code == 0
    assert points[0].implementation.label in output
    assert "edit 1" in run("compare", path, "--history", points[0].number)[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((TOUR, TOUR, "--history", "1"), "--history is of one session"),
        ((TOUR, "--dtype", "fp32"), "--dtype and --size say of which point --history is"),
        ((TOUR, "/nonexistent.roofscope"), "/nonexistent.roofscope"),
    ],
)
def test_what_cannot_be_compared_is_said(words: tuple[object, ...], sentence: str) -> None:
    code, output = run("compare", *words)
    assert code == 2
    assert sentence in output
