"""The recipes of docs/session-file.md run as they stand there."""

import contextlib
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.children import python
from roofscope.tests.recorded import kept

PAGE = Path(__file__).parents[2] / "docs" / "session-file.md"


def recipes(language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session of today's format, and two nights."""
    path = Path(shutil.copy(ASSETS / "sessions" / "h200-gelu.roofscope", tmp_path / "a.roofscope"))
    SessionStore.append(path).close()
    for night, name in enumerate(("h200", "h200-tour"), start=1):
        (tmp_path / "nightly" / str(night)).mkdir(parents=True)
        shutil.copy(kept(name), tmp_path / "nightly" / str(night))
    return tmp_path


def run(recipe: str, folder: Path) -> str:
    done = subprocess.run(python(recipe), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_two_of_pandas_and_one_of_sql() -> None:
    assert (len(recipes("python")), len(recipes("sql"))) == (2, 1)


def test_the_table_of_one_file(folder: Path) -> None:
    printed = run(recipes("python")[0], folder)
    assert "n=67108864" in printed
    assert "implementation" in printed


def test_the_history_of_a_folder(folder: Path) -> None:
    printed = run(recipes("python")[1], folder)
    assert "implementation" in printed
    assert len(printed.splitlines()) >= 10


def test_the_query(folder: Path) -> None:
    path = folder / "a.roofscope"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(recipes("sql")[0]).fetchall()
    times = {p.implementation.stem: p.measured.time.median_s for p in load(path).points if p.measured}
    assert len(rows) == sum(p.measured is not None for p in load(path).points)
    assert {row[1] for row in rows} == set(times)
    assert all(row[0] == "gelu" and row[3] > 0 and row[4] > 0 for row in rows)
