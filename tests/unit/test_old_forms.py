"""Forms that were written before they said what their work was derived of."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from roofscope.app.cli.own_file import FileOptions, choose_file
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.derivation import Derivation
from roofscope.profiling.planning.one_file import complete as completing
from roofscope.profiling.planning.one_file.complete import keep
from roofscope.profiling.planning.one_file.form import Form, form_text, read_form
from roofscope.profiling.planning.spec import Pipe, TensorSpec, WorkFormula
from roofscope.tests.unit.test_own_files import FORM

OLD = replace(FORM, derived="Derived from the reference: by an older one.", odd_sizes=({"n": 37},))
FOUND = Derivation(
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula("2*n", "2*n*s", "n*s", "Derived from the reference: now."),
    pipe=Pipe.VECTOR,
    multiplies=None,
)


@pytest.fixture
def form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "add.py").write_text("def add(x, y):\n    return x + y\n")
    keep(OLD, tmp_path / "add.roofscope.py")
    monkeypatch.setattr(completing, "derive", lambda *_: FOUND)
    return tmp_path / "add.roofscope.py"


def look(form: Path) -> Form:
    choose_file(str(form.parent / "add.py"), FileOptions(), is_trusted=True)
    return read_form(form)


def test_its_work_is_derived_again_once_and_that_is_said(
    form: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "derived before forms said what of" in read_warning(form)
    found = look(form)
    assert found == replace(OLD, flops="2*n", derived=FOUND.work.derived, derived_of=found.origin)
    assert "FLOPs and bytes were derived again." in capsys.readouterr().err
    assert read_warning(form) == ""
    look(form)
    assert capsys.readouterr().err == ""


def test_one_that_its_user_edited_stays_and_that_is_said(
    form: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    form.write_text(form_text(OLD) + "# mine\n")
    assert look(form) == OLD
    assert "it stays, because add.roofscope.py says already" in capsys.readouterr().err


def read_warning(form: Path) -> str:
    return " ".join(one.message for one in scan([form]).problems)
