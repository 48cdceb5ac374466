"""Every path that a command takes, given as something else: one sentence that says what it is."""

import os
import socket
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest
from typer.testing import CliRunner

from roofscope.app.cli.commands import COMMANDS, cli
from roofscope.profiling.paths import ASSETS

GELU = ASSETS / "sessions" / "h200-gelu.roofscope"
# What else a command needs to come to its session.
BESIDE: dict[str, tuple[str, ...]] = {
    "source": ("1",),
    "trace": ("gelu/eager",),
    "counters": ("gelu/eager",),
    "export": ("--csv",),
    "project": ("--onto", "H100"),
    "salvage": ("--out", "new.roofscope"),
}
OUT: dict[str, tuple[tuple[str, ...], str]] = {
    "run": (("gelu", "--device", "cpu"), ".roofscope"),
    "export": ((str(GELU), "--csv"), ".csv"),
    "plot": ((str(GELU),), ".svg"),
    "report": ((str(GELU),), ".html"),
    "salvage": ((str(GELU),), ".roofscope"),
    "trace": ((str(GELU), "gelu/eager"), ".json"),
    "selftest": (("--device", "cpu"), ".roofscope"),
}
NEEDS_USER = pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")


def _paths() -> Iterator[tuple[str, str]]:
    """Command and parameter of everything that takes a path."""
    for name in COMMANDS:
        command = import_module(f"roofscope.app.cli.{name.replace('-', '_')}").command
        for parameter, kind in get_type_hints(command).items():
            if "Path" in str(kind):
                yield name, parameter


SESSIONS = [(name, parameter) for name, parameter in _paths() if parameter in ("file", "other")]
FOLDERS = [(name, parameter) for name, parameter in _paths() if parameter in ("kernels", "folders")]
# In test_cli_json.py and test_report_file.py.
ELSEWHERE = [("mcp", "session"), ("run", "json_in"), ("counters", "report")]
TARGETS = [(name, parameter) for name, parameter in _paths() if parameter in ("out", "plot")]
SESSION_OPTIONS = [("lesson", "session"), ("lesson", "check_")]
NEW_FOLDERS = [(name, parameter) for name, parameter in _paths() if parameter in ("begin_", "write")]


def test_every_path_of_a_command_is_tried_here() -> None:
    assert sorted((*SESSIONS, *FOLDERS, *TARGETS, *ELSEWHERE, *SESSION_OPTIONS, *NEW_FOLDERS)) == sorted(
        _paths()
    )
    assert {name for name, _ in SESSIONS} >= {"show", "why", "source", "compare", "pin", "plot", "open"}


def make_folder(path: Path) -> None:
    path.mkdir()


def make_dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def make_unreadable(path: Path) -> None:
    path.write_bytes(b"x")
    path.chmod(0)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)  # a name in full may be too long


def make_nothing(path: Path) -> None:
    assert not path.exists()


Make = Callable[[Path], object]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*words: object) -> str:
    """The one sentence, after which nothing was printed."""
    done = CliRunner().invoke(cli, [str(word) for word in words])
    assert done.exit_code == 2, done.output
    assert not done.stdout
    assert done.stderr.count("\n") == 1
    return done.stderr.rstrip("\n")


@pytest.mark.parametrize(("name", "parameter"), SESSIONS)
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (make_folder, "x is a folder; choose a .roofscope file."),
        (os.mkfifo, "x is a pipe; choose a .roofscope file."),
        (make_socket, "x is a socket; choose a .roofscope file."),
        (Path.touch, "x is empty, and not a Roofscope session; choose a .roofscope file."),
        (make_dangling, "x is a link to 'nowhere', which is not there; choose a .roofscope file."),
        (make_nothing, "There is no file x."),
        pytest.param(make_unreadable, "x cannot be read: Permission denied.", marks=NEEDS_USER),
    ],
)
def test_what_is_given_as_a_session_is_called_by_its_name(
    name: str, parameter: str, make: Make, sentence: str, here: Path
) -> None:
    make(here / "x")
    before = sorted(here.iterdir())
    words = ("x",) if parameter == "file" else (GELU, "x")
    assert refused(name, *words, *BESIDE.get(name, ())) == sentence
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(("name", "parameter"), SESSIONS)
def test_a_device_or_a_file_as_a_folder_is_no_session(name: str, parameter: str, here: Path) -> None:
    before = () if parameter == "file" else (GELU,)
    beside = BESIDE.get(name, ())
    assert refused(name, *before, "/dev/null", *beside) == "/dev/null is a device; choose a .roofscope file."
    (here / "a").write_text("a")
    assert refused(name, *before, "a/b", *beside) == "There is no file a/b."
    assert refused(name, *before, "a", *beside).startswith("a is not a Roofscope session")


@pytest.mark.parametrize(("name", "parameter"), SESSION_OPTIONS)
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (make_folder, "x is a folder; choose a .roofscope file."),
        (Path.touch, "x is empty, and not a Roofscope session; choose a .roofscope file."),
        (make_nothing, "There is no file x."),
    ],
)
def test_a_session_that_an_option_names_is_called_by_its_name(
    name: str, parameter: str, make: Make, sentence: str, here: Path
) -> None:
    make(here / "x")
    assert refused(name, "gelu", f"--{parameter.rstrip('_')}", "x") == sentence


@pytest.mark.parametrize(("name", "parameter"), NEW_FOLDERS)
def test_a_folder_that_cannot_be_made_is_refused(name: str, parameter: str, here: Path) -> None:
    (here / "file").write_text("mine")
    words = (name, "gelu", f"--{parameter.rstrip('_')}")
    assert refused(*words, "file/new") == "file/new cannot be written: Not a directory."
    assert "cannot be written: File name too long." in refused(*words, "a" * 300)
    assert (here / "file").read_text() == "mine"


@pytest.mark.parametrize(("name", "parameter"), FOLDERS)
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (Path.touch, "x is a file; "),
        (os.mkfifo, "x is a pipe; "),
        (make_dangling, "x is a link to 'nowhere', which is not there; "),
        (make_nothing, "There is no folder x; "),
        (make_folder, "x holds no kernel"),
    ],
)
def test_what_is_given_as_a_folder_of_kernels_is_called_by_its_name(
    name: str, parameter: str, make: Make, sentence: str, here: Path
) -> None:
    make(here / "x")
    session = (str(GELU), "gelu/eager") if name in ("trace", "counters") else ()
    words = ("--kernels", "x") if parameter == "kernels" else ("x",)
    assert refused(name, *session, *words).startswith(sentence)


@pytest.mark.parametrize(("name", "parameter"), TARGETS)
def test_what_cannot_be_written_is_refused_before_the_work(name: str, parameter: str, here: Path) -> None:
    words, ending = OUT[name]
    ending = ".svg" if parameter == "plot" else ending
    option = f"--{parameter}"
    (here / "folder").mkdir()
    (here / "file").write_text("mine")
    (here / f"link{ending}").symlink_to("none/there")
    before = sorted(here.rglob("*"))

    def said(target: str) -> str:
        return refused(name, *words, option, target)

    assert said("folder") == f"folder is a folder; name a file in it, such as folder/a{ending}."
    assert said(f"none/a{ending}").endswith("there is no folder none; make it first.")
    assert said(f"file/a{ending}").endswith("file is no folder.")
    assert said(f"link{ending}").endswith(f"there is no folder {here / 'none'}; make it first.")
    assert said("a.txt").startswith(f"a.txt does not end in {ending}")
    assert said("a").startswith(f"a does not end in {ending}")
    assert "File name too long" in said("a" * 300 + ending)
    assert sorted(here.rglob("*")) == before
    assert (here / "file").read_text() == "mine"
