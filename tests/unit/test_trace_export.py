"""What `trace export` and `trace repair` write: tables, the same JSON, and valid JSON of a broken trace."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.profiling.traces.reading import open_trace
from roofscope.tests.public_files import DATA
from roofscope.tests.trace_events import kernel, slice_, text_of
from roofscope.tests.traces import Planted, write_trace

BLOCK = DATA / "traces" / "block-eager.json.gz"


def called(*words: object) -> Any:
    return CliRunner().invoke(cli, ["trace", *map(str, words)])


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "a.json"
    said = {"correlation": 3}
    launch = slice_("cudaLaunchKernel", 1.5, 2.0, cat="cuda_runtime", args=said)
    path.write_text(text_of([launch, kernel("=k()", 10.0, 4.0, 3), kernel("=k()", 20.0, 6.0, 4)]))
    return path


def test_kernels_as_csv(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.csv"
    ended = called("export", small, "--csv", out)
    assert (ended.exit_code, ended.stdout) == (0, f"{out}\n")
    [row] = rows_of(out)
    assert row["name"] == "'=k()", "a spreadsheet must take it for no formula"
    assert (row["count"], float(row["total_s"]), float(row["share"])) == ("2", pytest.approx(10e-6), 1.0)


def test_a_trace_of_a_cpu_has_no_kernel_to_write_and_says_so(tmp_path: Path) -> None:
    path, out = tmp_path / "a.json", tmp_path / "b.csv"
    path.write_text(text_of([slice_("aten::add", 1.5, 2.0)]))
    ended = called("export", path, "--csv", out)
    assert (ended.exit_code, ended.stdout) == (0, f"{out}\n")
    assert "No kernel of a GPU is in this trace" in ended.stderr
    assert rows_of(out) == []


def test_every_slice_as_csv(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.csv"
    assert called("export", small, "--csv", out, "--events").exit_code == 0
    launch, first, second = rows_of(out)
    assert (launch["category"], launch["device"], launch["correlation"]) == ("runtime", "", "3")
    assert (first["category"], first["device"], first["stream"]) == ("kernel", "0", "7")
    assert float(second["start_s"]) == pytest.approx(18.5e-6)
    assert float(second["duration_s"]) == pytest.approx(6e-6)


def test_slices_of_a_recorded_trace_are_all_there(tmp_path: Path) -> None:
    out = tmp_path / "b.csv"
    assert called("export", BLOCK, "--csv", out, "--events").exit_code == 0
    trace = open_trace(BLOCK)
    rows = rows_of(out)
    assert len(rows) == len(trace.slices)
    total = sum(float(row["duration_s"]) for row in rows)
    assert total == pytest.approx(int(trace.slices.duration_ns.sum()) * 1e-9)


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_the_json_comes_back_as_it_was_read(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"b{ending}"
    assert called("export", BLOCK, "--json", out).exit_code == 0
    written = out.read_bytes()
    assert (gzip.decompress(written) if ending.endswith("gz") else written) == gzip.decompress(
        BLOCK.read_bytes()
    )


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_a_broken_trace_is_repaired(tmp_path: Path, ending: str) -> None:
    path, out = tmp_path / "a.json", tmp_path / f"b{ending}"
    write_trace(path, 2000, planted=Planted(quotes=3, controls=2, is_cut=True))
    with pytest.raises(json.JSONDecodeError):
        json.loads(path.read_text())
    health = open_trace(path).health
    ended = called("repair", path, out, "--json")
    assert ended.exit_code == 0, ended.output
    document = json.loads(ended.stdout)
    assert (document["repaired"], document["dropped"]) == (health.repaired, health.dropped)
    assert health.repaired >= 5
    assert document["is_cut"]
    again = open_trace(out).health
    assert again.is_sound
    assert again.event_count == health.event_count
    content = out.read_bytes()
    json.loads(gzip.decompress(content) if ending.endswith("gz") else content)
    assert "had to be mended, the file is cut off" in called("repair", path, out).stdout


def test_a_sound_trace_is_repaired_to_the_same_events(tmp_path: Path) -> None:
    out = tmp_path / "b.json"
    ended = called("repair", BLOCK, out)
    assert "Nothing had to be mended." in ended.stdout
    assert json.loads(out.read_bytes()) == json.loads(gzip.decompress(BLOCK.read_bytes()))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("repair", "@", "@"), "is the trace itself and would be lost"),
        (("export", "@", "--json", "@"), "is the trace itself and would be lost"),
        (("repair", "@", "b.txt"), "does not end in .json or .json.gz"),
        (("repair", "@", "-"), "goes into a file"),
        (("export", "@"), "Say what to write"),
        (("export", "@", "--json", "b.json", "--events"), "--events goes with --csv"),
        (("export", "@", "--csv", "b.json"), "does not end in .csv"),
        (("repair", "nothing.json", "b.json"), "is no file"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(small: Path, words: tuple[str, ...], said: str) -> None:
    before = small.read_bytes()
    ended = called(*(small if word == "@" else word for word in words))
    assert ended.exit_code == 2
    assert said in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert small.read_bytes() == before
