"""``open``: what is wrong with a file is said before a window is made."""

import pytest
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.profiling.paths import ASSETS
from roofscope.tests.public_files import DATA


@pytest.mark.parametrize(
    "file", [DATA / "traces" / "block-eager.json.gz", ASSETS / "sessions" / "h200-gelu.roofscope"]
)
def test_traces_and_sessions_ask_for_a_screen(file: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    ended = CliRunner().invoke(cli, ["open", str(file)])
    assert ended.exit_code == 2
    assert "There is no screen to open a window on" in ended.output


@pytest.mark.parametrize("name", ["none.json", "none.json.gz", "none.zip", "none.roofscope"])
def test_a_file_that_is_not_there_is_named(name: str) -> None:
    ended = CliRunner().invoke(cli, ["open", name])
    assert ended.exit_code == 2
    assert "There is no file" in ended.output
    assert name in ended.output
