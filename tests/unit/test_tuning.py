"""What an autotuner tried, in words, records and pages, from a session with invented figures."""

import csv
import io
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.cli.documents import TuningDocument
from roofscope.app.cli.outcome_lines import tuned_lines
from roofscope.app.presentation.detail_facts import sections
from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.presentation.point_row import point_rows
from roofscope.app.presentation.report.page import report_html
from roofscope.app.presentation.tuning import (
    configuration_text,
    not_tuned_text,
    summary_text,
    tuning_section,
    tuning_tables,
    verdict_text,
)
from roofscope.profiling.analysis.export import csv_report, session_document
from roofscope.profiling.analysis.tuning_record import beside_runner_up, tuning_csv, tuning_records
from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_check import Impossible, check_outcome
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.tuning import (
    MOST_CONFIGURATIONS,
    MOST_TUNINGS,
    Configuration,
    LeftOut,
    RunnerUp,
    Tuning,
    bounded,
    text_of,
)
from roofscope.tests.sessions import make_session, measured
from roofscope.tests.tunings import configurations, time_of, tuned, tuned_session, write_tuned


@pytest.fixture
def session() -> Session:
    return tuned_session()


def tuned_point(session: Session, kernel: str = "matmul") -> Point:
    return next(
        point
        for point in session.points
        if point.measured and point.measured.tunings and point.job.workload.kernel == kernel
    )


def verdict(runner_up: float | None, missing: str = "") -> str:
    outcome = tuned(measured(1e-3), runner_up, missing)
    return verdict_text(outcome, outcome.tunings[0])


@pytest.mark.parametrize(
    ("ratio", "says"),
    [
        (1.003, "is 0.3 % ± 0.59 % slower: no difference seen."),
        (0.968, "is 3.2 % ± 0.095 % faster: it is the true winner, and the tuner missed it."),
        (1.12, "is 12 % ± 0.11 % slower: the choice holds."),
        (2.5, "is 2.50× (2.498 to 2.502) slower: the choice holds."),
        (0.4, "is 2.50× (2.498 to 2.502) faster: it is the true winner, and the tuner missed it."),
    ],
)
def test_the_winner_is_judged_beside_its_runner_up(ratio: float, says: str) -> None:
    assert verdict(ratio) == f"BLOCK_M=256 BLOCK_N=128 num_warps=8 num_stages=3 {says}"


def test_a_runner_up_without_a_time_has_its_reason() -> None:
    assert verdict(None, "The runner-up is off by 0.5 at row 3.") == "The runner-up is off by 0.5 at row 3."
    assert verdict(None) == ""


def test_few_blocks_judge_nothing() -> None:
    outcome = tuned(measured(1e-3), 1.003)
    second = outcome.tunings[0].runner_up
    assert second
    assert second.time
    short = replace(second.time, samples_s=(1e-3,), rounds=(0,), low_s=None, high_s=None)
    tuning = replace(outcome.tunings[0], runner_up=replace(second, time=short))
    assert verdict_text(outcome, tuning).endswith("too few blocks to say which is faster.")


def test_the_ratio_is_that_within_rounds(session: Session) -> None:
    """Drift common to both cancels there."""
    point = tuned_point(session)
    outcome = point.measured
    assert outcome
    second = outcome.tunings[0].runner_up
    assert second
    assert second.time
    drifts = [1 + 0.05 * number for number in range(20)]

    def drifting(samples: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(s * d for s, d in zip(samples, drifts, strict=True))

    other = replace(
        outcome,
        time=replace(outcome.time, samples_s=drifting(outcome.time.samples_s)),
        tunings=(
            replace(
                outcome.tunings[0],
                runner_up=replace(
                    second, time=replace(second.time, samples_s=drifting(second.time.samples_s))
                ),
            ),
        ),
    )
    before = beside_runner_up(outcome, outcome.tunings[0])
    after = beside_runner_up(other, other.tunings[0])
    assert before
    assert after
    assert after.ratio == pytest.approx(before.ratio, rel=1e-3)


def test_what_was_left_out_is_counted_by_its_reason() -> None:
    tuning = tuned(measured(1e-3)).tunings[0]
    said = summary_text(tuning)
    assert said == (
        "5 timed, 5 left out (1 out of resources, 1 pruned, 1 left by its performance model, "
        "1 not compiled, 1 failed), in 4 s"
    )
    assert summary_text(replace(tuning, is_cached=True)).endswith("from an earlier tuning on disk")


def test_the_table_has_the_fastest_first_and_reasons_last(session: Session) -> None:
    [table] = tuning_tables(tuned_point(session))
    cells = [row.cells for row in table.rows]
    assert cells[0] == ("BLOCK_M=128 BLOCK_N=256 num_warps=8 num_stages=3", "1.768 ms", "best", "winner")
    assert cells[1][2:] == ("+0.4 %", "runner-up, in turn 0.3 % ± 0.59 % slower")
    assert [row[2] for row in cells[2:5]] == ["+4.1 %", "+38 %", "2.21×"]
    assert cells[5][1:] == ("–", "–", "out of resources: shared memory: 262176 needed, 232448 there")
    assert table.common == "GROUP_M=8"  # which is in no name
    assert "GROUP_M=8" in table.rows[0].in_full


def test_the_column_has_the_winner_in_short(session: Session) -> None:
    column = next(column for column in COLUMNS if column.title == "Configuration")
    texts = {column.text(row) for row in point_rows(session, Provider.EAGER) if row.point.measured}
    assert texts == {"", "BLOCK_M=128 BLOCK_N=256 num_warps=8 num_stages=3"}


def test_a_configuration_of_an_older_session_is_shortened() -> None:
    plain = measured(1e-3)
    text = "BLOCK: 128, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: None"
    older = replace(plain, build=replace(plain.build, configuration=text))
    assert configuration_text(older) == "BLOCK=128 num_warps=4 num_stages=3"


def test_details_have_winner_verdict_and_counts(session: Session) -> None:
    point = tuned_point(session)
    row = next(row for row in point_rows(session, Provider.EAGER) if row.point.number == point.number)
    [found] = [part for part in sections(row, session) if part.title == "Tuning"]
    assert [fact.name for fact in found.facts] == ["Winner", "Runner-up", "Tried"]


def test_one_choice_has_no_runner_up_and_says_so() -> None:
    one = Tuning("k", (), (Configuration((("BLOCK", "64"),), 4, left_out=LeftOut.NOT_TIMED),), 0)
    point = make_session().points[0]
    outcome = replace(measured(1e-3), tunings=(one,))
    [table] = tuning_tables(replace(point, outcome=outcome))
    assert table.verdict.startswith("One configuration was left to choose from")
    assert table.rows[0].cells == ("BLOCK=64 num_warps=4", "–", "–", "winner")


def test_hostile_texts_of_a_file_are_shown_in_one_harmless_line() -> None:
    bad = "\x1b[31m<b>\u202e\n"
    hostile = Configuration(((bad, bad),), 4, pre_hook=bad, left_out=LeftOut.FAILED, reason=bad)
    second = RunnerUp(1, missing=bad)
    tuning = Tuning(bad, (bad,), (Configuration(((bad, "1"),), seconds=1.0), hostile), 0, runner_up=second)
    outcome = replace(measured(1e-3), tunings=(tuning, tuning))
    point = replace(make_session().points[0], outcome=outcome)
    shown = [configuration_text(outcome), not_tuned_text(point)]
    for table in tuning_tables(point):
        shown += [table.kernel, table.key, table.note, table.verdict]
        shown += [text for row in table.rows for text in (*row.cells, row.in_full)]
    shown += [fact.value for fact in tuning_section(outcome).facts]
    assert all(text.isprintable() for text in shown)
    assert any("\\u202e" in text for text in shown)


def test_points_that_were_not_tuned_say_so() -> None:
    point = make_session().points[0]
    assert "was not tuned" in not_tuned_text(point)


# The record


def test_it_comes_back_from_a_file_as_it_was(tmp_path: Path) -> None:
    found = load(write_tuned(tmp_path / "tuned.roofscope"))
    session = getattr(found, "session", found)
    kept = [point.measured.tunings for point in session.points if point.measured]
    assert kept == [point.measured.tunings for point in tuned_session().points if point.measured]
    assert not session.problems


def changed(**parts: object) -> bytes:
    """JSON of an outcome whose tuning has these values, which no worker writes."""
    built = msgspec.json.decode(msgspec.json.encode(tuned(measured(1e-3))))
    built["tunings"][0] |= parts
    return msgspec.json.encode(built)


IMPOSSIBLE: tuple[dict[str, object], ...] = (
    {"winner": 10},
    {"winner": -1},
    {"configurations": []},
    {"configurations": [{}] * (MOST_CONFIGURATIONS + 1)},
    {"kernel": "k" * 121},
    {"runner_up": {"configuration": 10}},
    {"configurations": [{"seconds": -1.0}] * 3},
    {"configurations": [{"left_out": "no reason of ours"}] * 3},
    {"tuning_s": 1e300},
)


@pytest.mark.parametrize("parts", IMPOSSIBLE)
def test_an_impossible_tuning_is_not_read(parts: dict[str, object]) -> None:
    with pytest.raises(UnreadableError):
        decode(changed(**parts), Measured)
    decode(changed(), Measured)


def test_an_impossible_time_of_a_runner_up_is_refused() -> None:
    outcome = tuned(measured(1e-3))
    backwards = replace(time_of(1e-3), low_s=2.0, high_s=1.0)
    broken = replace(outcome.tunings[0], runner_up=RunnerUp(2, backwards))
    with pytest.raises(Impossible):
        check_outcome(replace(outcome, tunings=(broken,)))


def test_what_is_too_much_is_cut_and_the_winner_stays() -> None:
    wide = tuple((f"{n}" * 60, "v" * 120) for n in range(30))
    many = tuple(Configuration(wide, seconds=2.0 - n / 1000) for n in range(MOST_CONFIGURATIONS))
    tuning = Tuning("k", (), many, winner=1023)
    [kept] = bounded([tuning])
    assert len(msgspec.json.encode(kept)) <= 1 << 20
    assert kept.configurations[kept.winner] == many[1023]
    assert kept.more == MOST_CONFIGURATIONS - len(kept.configurations) > 0
    assert len(bounded([replace(tuning, configurations=many[:1], winner=0)] * 40)) == MOST_TUNINGS


def test_texts_are_one_line_and_whole_characters() -> None:
    assert text_of("a\nb\x1b[2J\udcff") == "a b\\x1b[2J\\udcff"
    assert len(text_of("\u202e" * 1000)) == 120


def test_the_records_are_exported(session: Session) -> None:
    records = tuning_records(session.points)
    assert session_document(session).tunings == records
    lines = list(csv.DictReader(io.StringIO(tuning_csv(records))))
    assert len(lines) == 10 * len(records)
    of_first = lines[:10]
    assert [line["is_winner"] for line in of_first].count("True") == 1
    [second] = [line for line in of_first if line["is_runner_up"] == "True"]
    assert float(second["runner_up_ratio"]) == pytest.approx(records[0].runner_up_ratio)
    assert "tuned_configurations" in csv_report(session).partition("\r\n")[0]


def test_a_formula_in_an_option_is_text_in_a_spreadsheet(session: Session) -> None:
    point = tuned_point(session)
    assert point.measured
    bad = replace(point.measured.tunings[0].configurations[0], reason="=1+1", pre_hook="@x")
    tuning = replace(
        point.measured.tunings[0], configurations=(bad, *point.measured.tunings[0].configurations[1:])
    )
    outcome: Measured = replace(point.measured, tunings=(tuning,))
    [line, *_] = list(
        csv.DictReader(io.StringIO(tuning_csv(tuning_records([replace(point, outcome=outcome)]))))
    )
    assert (line["reason"], line["pre_hook"]) == ("'=1+1", "'@x")


def test_the_report_has_each_table_folded(session: Session) -> None:
    page = report_html(session)
    assert '<a href="#tuning">' in page
    count = sum(len(point.measured.tunings) for point in session.points if point.measured)
    assert page.count("with the tuner's own times") == count
    assert "shared memory: 262176 needed" in page
    assert "#tuning" not in report_html(make_session())


# The command


def call(*words: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(cli, ["tuning", *words])
    return found.exit_code, found.stdout, found.stderr


def test_the_command_prints_a_table_a_point(tmp_path: Path) -> None:
    path = str(write_tuned(tmp_path / "tuned.roofscope"))
    code, said, _ = call(path, "matmul/triton_tiled", "--dtype", "bf16")
    assert code == 0
    assert "no difference seen." in " ".join(said.split())
    assert said.count("BLOCK_M=") >= 10
    code, said, _ = call(path, "--json")
    document = msgspec.json.decode(said, type=TuningDocument)
    assert len(document.tunings) == 5
    assert document.tunings[0].configurations[1].is_winner
    code, said, _ = call(path, "2", "--csv")
    assert said.count("\n") == 11


def test_the_command_says_what_was_not_tuned(tmp_path: Path) -> None:
    path = str(write_tuned(tmp_path / "tuned.roofscope"))
    assert call(path, "1")[0] == 2
    assert "was not tuned" in call(path, "1")[2]
    assert "choose one" in call(path, "--json", "--csv")[2]


def test_the_table_of_a_run_has_a_line_a_choice_and_marks_what_the_tuner_missed(tmp_path: Path) -> None:
    path = str(write_tuned(tmp_path / "tuned.roofscope"))
    lines = " ".join(CliRunner().invoke(cli, ["show", path]).stdout.split())
    assert lines.count(" tuned: BLOCK_M=128") == 5
    assert lines.count("it is the true winner, and the tuner missed it.") == 2
    assert lines.count("! gelu / Triton fused fp32") == 2


def test_of_many_choices_only_those_that_the_tuner_missed_have_a_line() -> None:
    points = [point for point in tuned_session().points if point.measured and point.measured.tunings]
    lines = tuned_lines(points * 2)
    assert len(lines) == 5
    assert all(line.startswith("! gelu") for line in lines[:4])
    assert lines[4].startswith("· 10 choices of autotuners; `roofscope tuning SESSION`")


def test_configurations_of_the_fixture_cover_every_reason() -> None:
    kinds = {c.left_out for c in configurations(1e-3)}
    assert kinds == {None, *LeftOut} - {LeftOut.NOT_TIMED}
