"""The command line's end where stdout is closed, full, narrow of mind or not read to the end."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from roofscope.profiling.paths import ASSETS, PACKAGE
from roofscope.tests.children import commands

SESSION = ASSETS / "sessions" / "h200-gelu.roofscope"
SHOW = ("show", str(SESSION))


def shell(redirection: str, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The program, as a shell runs it with this redirection."""
    command = f'"$0" -P "$@" {redirection}'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command, sys.executable, str(PACKAGE / "main.py"), *words],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("redirection", "words"),
    [
        ("> /dev/full", SHOW),
        ("> /dev/full", (*SHOW, "--json")),
        ("> /dev/full", ("--help",)),
        ("> /dev/full", ("export", str(SESSION), "--svg", "--out", "-")),
        (">&-", SHOW),
    ],
    ids=["full", "json", "help", "export", "closed"],
)
def test_stdout_that_cannot_be_written_is_one_sentence(redirection: str, words: tuple[str, ...]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    ended = shell(redirection, *words)
    assert ended.returncode == 74
    assert ended.stderr.decode().startswith("What was to be printed is lost: stdout cannot be written (")
    assert ended.stderr.count(b"\n") == 1


def test_a_reader_that_has_enough_is_no_news() -> None:
    # It is gone before the program starts: one that goes while it prints may or may not have read all.
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        ended = subprocess.run(
            [sys.executable, "-P", str(PACKAGE / "main.py"), *SHOW],
            stdout=gone,
            stderr=subprocess.PIPE,
            check=False,
            timeout=120,
        )
    assert ended.stderr == b""
    assert ended.returncode in (-signal.SIGPIPE, 128 + signal.SIGPIPE)


def test_a_terminal_of_ascii_shows_all_in_ascii() -> None:
    ended = shell("", *SHOW, PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b" us " in ended.stdout
    assert b" +- " in ended.stdout
    assert ended.stdout.isascii()


def test_closed_stderr_and_stdin_are_nothing_to_fail_of() -> None:
    ended = shell("2>&- <&-", *SHOW)
    assert ended.returncode == 0
    assert ended.stdout.startswith(b"NVIDIA H200")


BAD = {
    "name": ("show", "x" * 300),
    "out": ("export", str(SESSION), "--csv", "--out", "x" * 300),
    "folder": ("export", str(SESSION), "--csv", "--out", "/no/such/folder/a.csv"),
    "size": ("run", "copy", "--size", f"n={'1' * 5000}", "--out", "a.roofscope"),
}


def test_bad_words_are_one_short_sentence(tmp_path: Path) -> None:
    for name, ended in commands({name: (words, tmp_path) for name, words in BAD.items()}).items():
        assert ended.returncode == 2, name
        assert ended.stderr.count(b"\n") == 1, name
        assert len(ended.stderr) < 600, name


WORDS = {
    "show": ("show", "@"),
    "show json": ("show", "@", "--json"),
    "why": ("why", "@"),
    "why json": ("why", "@", "6", "--json"),
    "source json": ("source", "@", "6", "--json"),
    "pin": ("pin", "@", "6"),
    "pin json": ("pin", "@", "6", "--json"),
    "no pins": ("pin", "@"),
    "compare": ("compare", "@", "@"),
    "compare json": ("compare", "@", "@", "--json"),
    "compile-report": ("compile-report", "@"),
    "compile-report json": ("compile-report", "@", "--json"),
    "tuning json": ("tuning", "@", "--json"),
    "project": ("project", "@", "--onto", "L4"),
    "project json": ("project", "@", "--onto", "L4", "--json"),
    "plot": ("plot", "@"),
    "report": ("report", "@"),
    "export": ("export", "@", "--csv", "--json", "--svg"),
    "to stdout": ("export", "@", "--json", "--out", "-"),
    "pivot": ("export", "@", "--pivot", "n"),
    "salvage": ("salvage", "@", "--out", "@.roofscope"),
}


ODD = os.fsdecode(b"a\xff.roofscope")


@pytest.fixture(scope="module")
def of_odd_names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, CompletedProcess[bytes]]]:
    """The folder that each command ran in, and what it said."""
    folders = {name: tmp_path_factory.mktemp("odd") for name in WORDS}
    try:
        for folder in folders.values():
            shutil.copy(SESSION, folder / ODD)
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    runs = {name: ([word.replace("@", ODD) for word in WORDS[name]], folders[name]) for name in WORDS}
    return {name: (folders[name], ended) for name, ended in commands(runs).items()}


@pytest.mark.parametrize("name", WORDS)
def test_a_name_that_is_no_utf8_is_shown_and_read_back(
    name: str, of_odd_names: dict[str, tuple[Path, CompletedProcess[bytes]]]
) -> None:
    folder, ended = of_odd_names[name]
    assert ended.returncode == 0, ended.stderr.decode(errors="replace")
    assert ended.stderr == b""
    text = ended.stdout.decode()
    if "json" in name:
        document = json.loads(text)
        session = document["a"] if name == "compare json" else document
        assert session["session"] == ODD
    for written in folder.iterdir():
        if written.suffix in (".csv", ".json", ".svg", ".html"):
            written.read_bytes().decode()


def test_a_name_that_is_no_utf8_is_refused_in_one_sentence(tmp_path: Path) -> None:
    odd = os.fsdecode(b"none\xff.roofscope")
    of_one = {"show": ("show", odd), "list": ("list", odd), "run": ("run", odd), "no command": (odd,)}
    runs = {**of_one, "source": ("source", str(SESSION), odd)}
    for name, ended in commands({name: (words, tmp_path) for name, words in runs.items()}).items():
        assert ended.returncode == 2, name
        assert ended.stderr.count(b"\n") == 1, name
        assert b"none\\udcff" in ended.stderr, name
