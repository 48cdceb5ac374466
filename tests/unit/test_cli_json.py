"""JSON in and out: every command that takes --json answers with one document, also where it does nothing."""

import importlib.util
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.cli.mcp import INSTALL
from roofscope.app.cli.run_options import RunOptions
from roofscope.app.cli.run_request import requested
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.plan import Quality

GELU = ASSETS / "sessions" / "h200-gelu.roofscope"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def called(*words: object, stdin: bytes = b"") -> tuple[int, Any]:
    """The code, and the one document on stdout."""
    done = CliRunner().invoke(cli, [str(word) for word in words], input=stdin)
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("why", "none.roofscope"), "There is no file none.roofscope."),
        (("why",), "Missing argument 'SESSION'."),
        (("frob",), "There is no command 'frob'; choose from"),
        (("device", "--device", "cuda:7"), "There is no device 'cuda:7'"),
        (("run", "--bogus"), "No such option: --bogus"),
        (("run", "gelu", "--dtype", "fp99"), "there is no element type 'fp99'"),
        (("compare", GELU, GELU, "--history", "1"), "--history is of one session"),
        (("trust", "none"), "There is no folder none"),
        (("report", GELU, "--out", "-"), "both write to stdout"),
        (("delete", GELU, "1"), "came with the program and stays as it is"),
    ],
)
def test_a_command_that_does_nothing_says_why_in_one_document(
    words: tuple[object, ...], said: str, here: Path
) -> None:
    code, document = called(*words, "--json")
    assert code == document["exit_code"] == 2
    assert document["document"] == "fault"
    assert said in document["error"]
    assert "\n" not in document["error"]


def test_without_json_a_refusal_prints_nothing_on_stdout(here: Path) -> None:
    done = CliRunner().invoke(cli, ["why", "none.roofscope"])
    assert (done.exit_code, done.stdout) == (2, "")


def test_commands_that_write_say_in_json_what_they_wrote(here: Path) -> None:
    session = here / "a.roofscope"
    shutil.copy(GELU, session)
    code, written = called("report", session, "--json")
    assert (code, written["document"], written["file"]) == (0, "written", str(here / "a.html"))
    assert (here / "a.html").stat().st_size > 1000
    code, saved = called("salvage", session, "--out", "b.roofscope", "--json")
    assert (code, saved["file"]) == (0, "b.roofscope")
    assert saved["point_count"] == written["point_count"] > 0
    assert called("delete", session, "--json")[1]["deleted"] == []
    (deleted,) = called("delete", session, "1", "--json")[1]["deleted"]
    assert deleted["point"] == 1
    assert called("delete", session, "--bring-back", "--json")[1]["deleted"] == []


def test_trust_lists_folders_in_json(here: Path) -> None:
    assert called("trust", "--json")[1]["folders"] == []
    kernel = here / "mine" / "doubled"
    kernel.mkdir(parents=True)
    (kernel / "spec.py").write_text("")
    (folder,) = called("trust", "mine", "--json")[1]["folders"]
    assert folder["path"] == str(here / "mine")
    assert called("trust", "mine", "--forget", "--json")[1]["folders"] == []


def test_a_request_says_what_the_options_say(here: Path) -> None:
    path = here / "request.json"
    path.write_text(
        json.dumps(
            {
                "kernels": ["softmax"],
                "dtypes": ["bf16"],
                "sizes": [{"rows": 4, "cols": 8}],
                "quality": "exact",
                "labels": {"commit": "3f2a"},
                "out": "a.roofscope",
            }
        )
    )
    options = requested(path)
    assert options == RunOptions(
        kernels=("softmax",),
        dtypes=options.dtypes,
        sizes=("rows=4, cols=8",),
        quality=Quality.EXACT,
        labels=("commit=3f2a",),
        out=Path("a.roofscope"),
        as_json=True,
        file=options.file,
    )
    assert [str(dtype) for dtype in options.dtypes] == ["bfloat16"]
    assert not options.file.says_anything


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (b"", "The request in stdin cannot be used: "),
        (b"\xff", "The request in stdin cannot be used: "),
        (b"[" * 100_000, "The request in stdin cannot be used: "),
        (b'{"kernels": 3}', "expected array, got int at kernels."),
        (b'{"kernls": []}', "unknown field kernls"),
        (b'{"kernels": ["x\\u0000y"]}', "There is no kernel"),
        (b'{"dtypes": ["fp99"]}', "unknown element type 'fp99'"),
        (b'{"patience": 0}', "at patience."),
        (b'{"kernels": ["a.py"]}', "There is no file a.py."),
        (b'{"reference": "x"}', "name it, as in"),
        (b'{"trust": true}', "unknown field trust"),
    ],
)
def test_a_request_that_cannot_be_used_is_one_sentence(stdin: bytes, said: str, here: Path) -> None:
    code, document = called("run", "--json-in", "-", stdin=stdin)
    assert (code, document["document"]) == (2, "fault")
    assert said in document["error"]
    assert "\n" not in document["error"]


def test_a_request_comes_from_a_file_and_alone(here: Path) -> None:
    assert "There is no file none.json" in called("run", "--json-in", "none.json")[1]["error"]
    assert "There is no file" in called("run", "--json-in", here)[1]["error"]
    os.mkfifo(here / "pipe")
    assert "There is no file pipe" in called("run", "--json-in", "pipe")[1]["error"]
    assert "leave the other options out" in called("run", "gelu", "--json-in", "-")[1]["error"]


def test_the_schema_of_a_request_is_printed() -> None:
    schema = called("schema", "--request")[1]
    assert "kernels" in schema["$defs"]["RunRequest"]["properties"]


def test_the_tools_are_printed_with_their_schemas() -> None:
    tools = called("mcp", "--tools")[1]
    assert [tool["name"] for tool in tools] == ["what_is_here", "measure_file", "why", "compare", "session"]
    for tool in tools:
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert all("description" in field for field in tool["inputSchema"]["properties"].values())


def test_mcp_that_is_not_installed_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mcp" else find(name))
    done = CliRunner().invoke(cli, ["mcp"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert INSTALL in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.txt", "does not end in .roofscope"),
        ("none/a.roofscope", "there is no folder none"),
        (str(GELU), "another device than"),
        ("bad.roofscope", "not a Roofscope session"),
    ],
)
def test_a_session_that_cannot_be_a_memory_is_refused(name: str, said: str, here: Path) -> None:
    (here / "bad.roofscope").write_text("x")
    done = CliRunner().invoke(cli, ["mcp", name, "--device", "cpu"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
