"""The command line's end where stdout is closed, full, narrow of mind or not read to the end."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from roofscope.profiling.paths import ASSETS, PACKAGE

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


@pytest.mark.parametrize(
    "words",
    [
        ("show", "x" * 300),
        ("export", str(SESSION), "--csv", "--out", "x" * 300),
        ("export", str(SESSION), "--csv", "--out", "/no/such/folder/a.csv"),
        ("run", "copy", "--size", f"n={'1' * 5000}", "--out", "a.roofscope"),
    ],
    ids=["name", "out", "folder", "size"],
)
def test_bad_words_are_one_short_sentence(words: tuple[str, ...]) -> None:
    ended = shell("", *words)
    assert ended.returncode == 2
    assert ended.stderr.count(b"\n") == 1
    assert len(ended.stderr) < 600


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


@pytest.mark.parametrize("name", WORDS)
def test_a_name_that_is_no_utf8_is_shown_and_read_back(name: str, tmp_path: Path) -> None:
    odd = os.fsdecode(b"a\xff.roofscope")
    try:
        shutil.copy(SESSION, tmp_path / odd)
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    words = [word.replace("@", odd) for word in WORDS[name]]
    ended = subprocess.run(
        [sys.executable, "-P", str(PACKAGE / "main.py"), *words],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr.decode(errors="replace")
    assert ended.stderr == b""
    text = ended.stdout.decode()
    if "json" in name:
        document = json.loads(text)
        session = document["a"] if name == "compare json" else document
        assert session["session"] == odd
    for written in tmp_path.iterdir():
        if written.suffix in (".csv", ".json", ".svg", ".html"):
            written.read_bytes().decode()


def test_a_name_that_is_no_utf8_is_refused_in_one_sentence(tmp_path: Path) -> None:
    odd = os.fsdecode(b"none\xff.roofscope")
    for words in (("show", odd), ("source", str(SESSION), odd), ("list", odd), ("run", odd), (odd,)):
        ended = shell("", *words)
        assert ended.returncode == 2
        assert ended.stderr.count(b"\n") == 1
        assert b"none\\udcff" in ended.stderr
