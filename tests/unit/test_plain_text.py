"""No text from a kernel or a stranger's session acts on what shows it."""

import ast
import csv
import io
import json
from xml.etree import ElementTree as ET

import msgspec
import pandas as pd
import pytest
from rich.markup import escape

from roofscope.app.cli.outcome_lines import outcome_line
from roofscope.app.cli.progress import _Console
from roofscope.app.cli.table import print_table
from roofscope.app.presentation.roofline.svg import roofline_svg
from roofscope.app.presentation.table_text import html_table, tab_separated
from roofscope.profiling.analysis.export import csv_report, csv_text, json_report
from roofscope.profiling.paths import PACKAGE
from roofscope.profiling.plain_text import cell_text, html_text, visible
from roofscope.profiling.results.outcome import Failed, FailureKind, Stage
from roofscope.profiling.results.session import Session
from roofscope.tests.sessions import DEVICE, ENVIRONMENT, make_session

EVIL = '\x1b]0;title\x07\x1b[31m<img src="file:///etc">\u202egnp\x9b2J\x00\r\udcff\ufffe'
ACTING = set("\x1b\x07\x9b\x00\r\u202e\udcff\ufffe")


def evil_session() -> Session:
    """Each text of it that a stranger chooses acts."""
    session = make_session()
    name = "kernel" + EVIL
    failed = Failed(FailureKind.BUILD_ERROR, Stage.BUILD, EVIL, log=EVIL)

    def renamed(point):  # type: ignore[no-untyped-def]
        implementation = msgspec.structs.replace(point.implementation, kernel=name, variant=EVIL)
        workload = msgspec.structs.replace(point.job.workload, kernel=name)
        job = msgspec.structs.replace(point.job, workload=workload)
        outcome = failed if point.number == 1 else point.outcome
        return msgspec.structs.replace(point, implementation=implementation, job=job, outcome=outcome)

    session.specs = {name: msgspec.structs.replace(session.specs["gelu"], name=name)}
    session.points = tuple(map(renamed, session.points[:4]))
    session.device = msgspec.structs.replace(DEVICE, name=EVIL)
    session.environment = msgspec.structs.replace(ENVIRONMENT, host=EVIL)
    return session


def test_what_acts_is_written_out() -> None:
    assert visible("a\x1b[31m\r\nb\tµ\u202e\u0085") == "a\\x1b[31m\nb\tµ\\u202e\\x85"
    assert not ACTING & set(visible(EVIL))
    assert html_text("<b>\x07&") == "&lt;b&gt;\\x07&amp;"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("\tx", "'\tx"),
        ("＝1", "'＝1"),
        ("-5", "-5"),
        ("+1.5e-3", "+1.5e-3"),
        ("gelu = x", "gelu = x"),
        ("", ""),
    ],
)
def test_no_cell_is_a_formula_and_numbers_stay(text: str, cell: str) -> None:
    assert cell_text(text) == cell


def test_csv_changes_texts_and_no_figure() -> None:
    frame = pd.DataFrame({"=a": ["=1", None], "b": [-1.5, 2.0], "c": pd.array([-1, None], dtype="Int64")})
    frame["d"] = pd.array(["-3", "-x"], dtype="string")
    assert csv_text(frame) == "'=a,b,c,d\r\n'=1,-1.5,-1,-3\r\n,2.0,,'-x\r\n"


def test_exports_of_a_strangers_session_are_well_formed() -> None:
    session = evil_session()
    svg = roofline_svg(session)
    assert not ACTING & set(svg)
    assert "<img" not in svg
    ET.fromstring(svg)
    text = csv_report(session)
    assert not (ACTING - {"\r"}) & set(text)
    assert len(list(csv.reader(io.StringIO(text, newline="")))) == 5


def test_json_escapes_and_reads_back() -> None:
    session = evil_session()
    clean = EVIL.replace("\udcff", "")
    session.device = msgspec.structs.replace(DEVICE, name=clean)
    session.environment, session.points = None, ()
    text = json_report(session)
    assert not ACTING & set(text)
    assert json.loads(text)["device"]["name"] == clean


def test_no_table_pastes_formulas_or_tags() -> None:
    table = [["name"], ["=1\x1b"], ["<img>"]]
    assert tab_separated(table) == "name\n'=1\\x1b\n<img>\n"
    assert "<td>&lt;img&gt;</td>" in html_table(table)


def test_nothing_acts_on_the_terminal() -> None:
    session = evil_session()
    console = _Console(file=io.StringIO(), width=200, force_terminal=True, color_system=None)
    print_table(console, session)
    for point in session.points:
        console.print(outcome_line(point, 200, session), highlight=False)
    console.print(escape(EVIL), EVIL, markup=False)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\\x1b[31m" in text
    assert not ACTING & set(text)


def test_every_tool_tip_is_plain_text() -> None:
    """A literal, or what tip_text made, or another tool tip as it is."""
    loose = [
        f"{path.relative_to(PACKAGE)}:{call.lineno}"
        for path in (PACKAGE / "app" / "window").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "setToolTip"
        if not _is_plain(call.args[0])
    ]
    assert loose == []


def _is_plain(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_plain(node.body) and _is_plain(node.orelse)
    name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Constant) or name in {"tip_text", "toolTip"}


def test_the_command_line_prints_by_one_way() -> None:
    """Which escapes: ``say``, or the console of ``make_console``. JSON escapes by itself."""
    loose = [
        f"{path.name}:{call.lineno}"
        for path in (PACKAGE / "app" / "cli").glob("*.py")
        if path.name not in {"output.py", "documents.py", "schema.py"}
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and (
            getattr(call.func, "id", "") in {"print", "Console"}
            or getattr(call.func, "attr", "") in {"echo", "secho"}
        )
    ]
    assert loose == []
