"""From words of the command line to a plan: what is understood, and what is refused in one sentence."""

from pathlib import Path

import pytest
import typer

from app.cli.choice import choose_libraries
from profiling.catalog import scan
from tests.worker.toys import REFERENCE, add_toy

Capture = pytest.CaptureFixture[str]


def test_a_library_is_a_folder_of_kernels_or_of_one(tmp_path: Path) -> None:
    folder = add_toy(tmp_path, "doubled", REFERENCE)
    for library in (tmp_path, folder):
        [kernel] = scan(choose_libraries([library])).kernels
        assert kernel.folder == folder


@pytest.mark.parametrize(
    ("name", "sentence"), [("nonexistent", "There is no folder"), ("empty", "holds no kernel")]
)
def test_a_folder_without_kernels_is_refused(
    tmp_path: Path, name: str, sentence: str, capsys: Capture
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(typer.Exit):
        choose_libraries([tmp_path / name])
    assert sentence in capsys.readouterr().err
