"""A user's own file under a watch: what is looked at, what a save concerns, and what is refused."""

import os
from pathlib import Path

import pytest
import typer

from roofscope.app.cli.own_file import FileOptions
from roofscope.app.cli.run import RunOptions, run
from roofscope.app.cli.watch import why_not_trusted
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.edits import EditedKernels
from roofscope.profiling.planning.file_watch import Saved, stamps_of
from roofscope.profiling.planning.one_file import known_files
from roofscope.profiling.planning.one_file.complete import keep
from roofscope.profiling.planning.one_file.form import Form, read_form
from roofscope.profiling.planning.one_file.known_files import KnownFiles
from roofscope.tests.own_forms import ADD as FORM


@pytest.fixture
def form(tmp_path: Path) -> Path:
    (tmp_path / "add.py").write_text("from sizes import BLOCK\n\n\ndef add(x, y):\n    return x + y\n")
    (tmp_path / "sizes.py").write_text("BLOCK = 128\n")
    (tmp_path / "letters.py").write_text("")
    keep(FORM, tmp_path / "add.roofscope.py")
    return tmp_path / "add.roofscope.py"


def test_a_form_its_file_and_what_that_imports_are_looked_at_and_nothing_else(form: Path) -> None:
    found = {path.name for path in stamps_of([form]) if path.parent == form.parent}
    assert found == {"add.roofscope.py", "add.py", "sizes.py"}
    form.write_text("FILE = (")  # while it is edited
    assert form in stamps_of([form])


def test_files_at_rest_are_read_once_and_again_when_something_changes(
    form: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, reads = form.parent, list[Path]()

    def counted(path: Path) -> Form:
        reads.append(path)
        return read_form(path)

    def at_rest() -> None:
        for path in (*folder.iterdir(), folder):
            os.utime(path, (1e9, 1e9))

    def names(known: KnownFiles) -> set[str]:
        return {path.name for path in stamps_of([form], known) if path.parent == folder}

    monkeypatch.setattr(known_files, "read_form", counted)
    known = KnownFiles()
    names(known)
    names(known)
    assert len(reads) == 2  # it was written a moment ago: a save within the disk's tick has the same time
    at_rest()
    names(known)
    for _ in range(5):
        assert names(known) == {"add.roofscope.py", "add.py", "sizes.py"}
    assert len(reads) == 3
    (folder / "sizes.py").write_text("import more\n")  # which is not there yet
    assert names(known) == {"add.roofscope.py", "add.py", "sizes.py"}
    at_rest()
    names(known)
    read = len(reads)
    (folder / "more.py").write_text("")
    assert names(known) == {"add.roofscope.py", "add.py", "sizes.py", "more.py"}
    assert len(reads) == read + 1


def test_a_package_whose_folder_was_there_is_followed_when_its_module_comes(form: Path) -> None:
    package = form.parent / "pack"
    package.mkdir()
    (form.parent / "add.py").write_text("from pack.inner import BLOCK\n\n\ndef add(x, y): ...\n")
    for path in (*form.parent.iterdir(), form.parent):
        os.utime(path, (1e9, 1e9))
    known = KnownFiles()
    stamps_of([form], known)
    (package / "inner.py").write_text("BLOCK = 1\n")
    assert package / "inner.py" in stamps_of([form], known)


@pytest.mark.parametrize("name", ["add.py", "sizes.py"])
def test_a_save_of_what_runs_concerns_the_files_version_alone(form: Path, name: str) -> None:
    edited = EditedKernels(scan([form]))
    path = form.parent / name
    path.write_text(f"{path.read_text()}# edited\n")
    found = edited.take(scan([form]), Saved(frozenset({path})))
    assert len(found.implementations) == 1
    assert found.implementations[0].variant == "add"


def test_a_file_that_python_cannot_read_is_said(form: Path) -> None:
    edited = EditedKernels(scan([form]))
    path = form.parent / "add.py"
    path.write_text("def add(x, y:\n")
    found = edited.take(scan([form]), Saved(frozenset({path})))
    assert found.implementations == ()
    assert len(found.said) == 1
    assert "Python cannot read add.py" in found.said[0]


def test_a_form_is_as_trusted_as_what_runs_by_it(form: Path) -> None:
    assert why_not_trusted([form]) == ""
    form.write_text("FILE = (")
    assert "cannot be read" in why_not_trusted([form])


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (RunOptions(kernels=["softmax"], watch=True, svg=True), "--svg"),
        (RunOptions(kernels=["softmax"], watch=True, plot=Path("a.svg")), "--plot"),
        (RunOptions(kernels=["softmax"], watch=True, strict=True), "--strict"),
        (RunOptions(kernels=["softmax"], watch=True, retry_paused=True), "--retry-paused"),
        (RunOptions(kernels=["softmax"], watch=True, fresh_ceilings=True), "--fresh-ceilings"),
        (RunOptions(kernels=["softmax"], watch=True, file=FileOptions("x + y")), "--reference"),
        (RunOptions(kernels=["missing.py"], watch=True), "There is no file missing.py"),
    ],
)
def test_what_a_watch_cannot_do_is_refused(
    options: RunOptions,
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(typer.Exit):
        run(options)
    assert word in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
