"""`export --pivot AXIS` and `run --label`, as a user types them."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roofscope.app.cli.choice import choose_labels
from roofscope.app.cli.commands import cli
from roofscope.app.presentation.formatting import bandwidth_text, time_text
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session_reader import load

GELU = ASSETS / "sessions" / "h200-gelu.roofscope"


def export(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["export", *map(str, words)])
    return done.exit_code, done.output


@pytest.mark.parametrize("value", ["median", "bandwidth"])
def test_the_table_has_a_row_a_size_and_nothing_is_cut(value: str) -> None:
    code, text = export(GELU, "--pivot", "n", "--value", value)
    assert code == 0
    title, head, row, *_ = text.splitlines()
    assert title == "gelu float32 burst"
    implementations = head.split()[1:]
    newest = {p.implementation.stem: p for p in load(GELU).points if p.measured}
    shown = {p.implementation.stem: p for p in newest.values() if p.job.workload.dtype == "float32"}
    assert set(implementations) >= set(shown)
    for point in shown.values():
        assert point.measured
        expected = (
            time_text(point.measured.time.median_s)
            if value == "median"
            else bandwidth_text(point.achieved_bandwidth)
        )
        assert expected in row


def test_a_file_gets_si_values_and_their_name(tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    assert export(GELU, "--pivot", "n", "--out", out) == (0, f"{out}\n")
    first = next(csv.DictReader(out.read_text().splitlines()))
    point = next(p for p in load(GELU).points if p.implementation.stem == "eager" and p.measured)
    assert point.measured
    assert (first["value"], first["size_n"]) == ("median_s", "67108864")
    assert float(first["eager"]) == point.measured.time.median_s


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--pivot", "rows"), "No point has an axis 'rows'; the axes here are n."),
        (("--pivot", "n", "--value", "speed"), "There is no value 'speed'"),
        (("--pivot", "n", "--csv"), "leave --csv, --json, --png and --svg out"),
        (("--pivot", "n", "--out", "a.png"), "does not end in .csv"),
    ],
)
def test_a_mistake_is_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    code, text = export(GELU, *words)
    assert code == 2
    assert sentence in text


def test_labels_are_key_value() -> None:
    assert choose_labels(["commit=3f2a", "note=a=b", "empty="]) == {
        "commit": "3f2a",
        "note": "a=b",
        "empty": "",
    }


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["commit"], "The label 'commit' is no key=value"),
        (["=a"], "no key=value"),
        (["a=1", "a=2"], "'a' is given twice"),
    ],
)
def test_other_labels_are_refused_before_anything_runs(
    words: list[str], sentence: str, tmp_path: Path
) -> None:
    options = [option for word in words for option in ("--label", word)]
    done = CliRunner().invoke(cli, ["run", "gelu", *options, "--out", str(tmp_path / "a.roofscope")])
    assert done.exit_code == 2
    assert sentence in done.output
    assert list(tmp_path.iterdir()) == []
