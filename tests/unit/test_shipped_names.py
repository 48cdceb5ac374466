"""A session that came with the program is found by its name, by what only reads it."""

from pathlib import Path

import pytest

from roofscope.app.cli.options import shipped_too
from roofscope.profiling.paths import ASSETS

H200 = ASSETS / "sessions" / "h200.roofscope"


@pytest.mark.parametrize("name", ["h200", "h200.roofscope"])
def test_a_bare_name_finds_a_shipped_session(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shipped_too(Path(name)) == H200
    Path(name).touch()  # the user's own comes first
    assert shipped_too(Path(name)) == Path(name)


@pytest.mark.parametrize("name", ["nothing", "sub/h200", "../h200", "h200.json"])
def test_what_is_none_stays_as_it_was_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shipped_too(Path(name)) == Path(name)
