"""A session that came with the program is found by its name, by what only reads it."""

from pathlib import Path

import pytest

from roofscope.app.cli.commands import cli
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


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (("show", "h200-gelu"), ""),
        (("why", "h200-gelu", "gelu/eager"), ""),
        (("source", "h200-gelu", "gelu/cuda_textbook"), ""),
        (("tuning", "h200-autotune"), ""),
        (("compile-report", "h200-gelu.roofscope"), ""),
        (("project", "h200-gelu.roofscope", "--onto", "RTX 4090"), ""),
        (("compare", "h200-gelu", "h200-tour"), ""),
        (("lesson", "gelu", "--session", "h200-gelu"), ""),
        (("pin", "h200-gelu"), ""),
        (("delete", "h200-gelu"), ""),
        (("export", "h200-gelu", "--csv"), "h200-gelu.csv"),
        (("report", "h200-gelu"), "h200-gelu.html"),
        (("plot", "h200-gelu"), "h200-gelu.svg"),
        (("salvage", "h200-gelu", "--out", "mine.roofscope"), "mine.roofscope"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_every_command_takes_the_name_and_writes_where_the_user_is(
    words: tuple[str, ...], written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(H200.parent.iterdir())
    with pytest.raises(SystemExit) as ended:
        cli(list(words))
    assert ended.value.code == 0
    assert [path.name for path in tmp_path.iterdir()] == [written] * bool(written)
    assert sorted(H200.parent.iterdir()) == before


@pytest.mark.parametrize("command", ["pin", "delete"])
def test_what_would_write_into_it_says_that_it_stays(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli([command, "h200-gelu", "gelu/eager"])
    assert ended.value.code == 2
    assert "came with the program and stays as it is" in capsys.readouterr().err
