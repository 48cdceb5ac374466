"""The report: one page that stands for itself, in which every text stays text."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.presentation.export import ExportError
from roofscope.app.presentation.formatting import spread_time_text
from roofscope.app.presentation.point_row import PointRow, point_rows
from roofscope.app.presentation.report import content
from roofscope.app.presentation.report.file import write_report
from roofscope.app.presentation.report.page import TEMPLATE, report_html
from roofscope.app.presentation.tokens import DARK, LIGHT
from roofscope.app.presentation.why import WhyTexts
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.results.session import Identity, Session
from roofscope.profiling.results.session_reader import load
from roofscope.tests.recorded import kept
from roofscope.tests.sessions import empty_session, make_session
from roofscope.tests.sweeps import sweep_session

HOSTILE = """<script>alert(1)</script>"onload='x'&<!--\u202e{{7*7}}</style></title>"""
_VOID = {"meta", "input", "br", "link", "img", "wbr"}


class Page(HTMLParser):
    """The page as a browser reads it: tags with their attributes, and texts by the tag that they stand in."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.cells: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th"):
            self.cells.append("")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))
        if {"td", "th"} & set(self._open):
            self.cells[-1] += data

    @property
    def still_open(self) -> list[str]:
        return self._open

    def counts(self) -> Counter[str]:
        return Counter(tag for tag, _ in self.tags)

    def all_text(self) -> str:
        return " ".join(text for tag, text in self.texts if tag not in ("script", "style"))


def hostile_session() -> Session:
    session = sweep_session(range(10, 14))
    spec = session.specs["vector_add"]
    session.specs = {HOSTILE: replace(spec, name=HOSTILE)}
    session.points = tuple(
        replace(
            point,
            job=replace(point.job, workload=replace(point.job.workload, kernel=HOSTILE)),
            implementation=replace(point.implementation, kernel=HOSTILE, variant=f"v{HOSTILE}"),
        )
        for point in session.points
    )
    assert session.device
    assert session.environment
    session.device = replace(session.device, name=HOSTILE)
    session.environment = replace(session.environment, host=HOSTILE, devices=(session.device,))
    session.identity = Identity(labels={HOSTILE: HOSTILE})
    session.problems = (HOSTILE,)
    first = session.points[0].implementation
    session.sources = {first.source_hash: (SourceFile(HOSTILE, "0" * 64, HOSTILE),)}
    session.proofs = (Proof(ProofName.KNOWN_WORK, True, HOSTILE, HOSTILE),)
    session.path = Path(f"{HOSTILE.replace('/', '_')}.roofscope")
    return session


def test_every_point_has_a_row_and_every_dot_leads_to_one() -> None:
    session = make_session()
    page = Page(report_html(session))
    rows = {attrs["id"] for tag, attrs in page.tags if tag == "tr" and attrs.get("id")}
    assert rows == {f"point-{point.number}" for point in session.points}
    dots = [attrs for _, attrs in page.tags if "data-point" in attrs]
    assert dots
    assert {f"point-{attrs['data-point']}" for attrs in dots} <= rows
    assert all(attrs["aria-label"] for attrs in dots)


def test_it_shows_the_times_with_their_intervals() -> None:
    session = make_session()
    cells = Page(report_html(session)).cells
    for point in session.points:
        if point.measured:
            time = point.measured.time
            assert spread_time_text(time.median_s, time.bounds_s, len(time.samples_s)) in cells


def test_what_failed_is_there_with_its_reason() -> None:
    text = Page(report_html(make_session(full=True))).all_text()
    assert "does not compile for sm_90; read the log" in text
    assert "Stopped by the user." in text


@pytest.mark.parametrize("name", ["h200-gelu", "h200-tour"])
def test_each_point_has_the_sentences_that_why_says_folded(name: str) -> None:
    session = load(kept(name))
    texts, page = WhyTexts(session), Page(report_html(session))
    shown = Counter((tag, text) for tag, text in page.texts if tag in ("summary", "dd"))
    for point in session.points:
        why = texts.of(point)
        assert why
        limit, *others = [sentence for _, sentence in why.titled]
        assert shown["summary", limit]
        assert all(shown["dd", sentence] for sentence in (*others, *why.others))
    limits = [text for tag, text in page.texts if tag == "summary" and "roof" in text]
    named = sum("On no roof" in text for text in limits)
    assert named == 0  # what the verdict alone does not name, a rule does or the sentence says so


def test_the_rows_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Session] = []

    def counted(session: Session, *rest: object) -> list[PointRow]:
        calls.append(session)
        return point_rows(session, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(content, "point_rows", counted)
    report_html(make_session())
    assert len(calls) == 1


def test_the_sweep_of_a_kernel_is_drawn() -> None:
    page = Page(report_html(sweep_session()))
    assert page.counts()["svg"] == 2
    assert "L2 60.0 MiB" in page.all_text()
    assert Page(report_html(make_session())).counts()["svg"] == 1


def test_hostile_text_stays_text() -> None:
    plain, page = Page(report_html(sweep_session(range(10, 14)))), Page(report_html(hostile_session()))
    assert not page.still_open
    assert page.counts()["script"] == plain.counts()["script"] == 1
    assert page.counts()["style"] == 1
    assert page.counts()["title"] == 1 + sum("data-point" in attrs for _, attrs in page.tags)
    names = {name for _, attrs in page.tags for name in attrs}
    assert not any(name.startswith("on") for name in names)
    assert "<script>alert(1)</script>" in page.all_text()
    assert "{{7*7}}" in page.all_text()
    assert "49" not in [text.strip() for text in page.cells]


def test_marks_that_change_the_reading_order_are_written_out() -> None:
    text = report_html(hostile_session())
    assert "\u202e" not in text
    assert "\\u202e" in text


def test_nothing_is_fetched() -> None:
    text = report_html(load(kept("h200-tour")))
    page = Page(text)
    policy = next(attrs for tag, attrs in page.tags if tag == "meta" and "http-equiv" in attrs)
    assert policy["content"] == (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    )
    for tag, attrs in page.tags:
        assert tag not in ("link", "img", "iframe", "image", "use", "object", "embed")
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
    assert "url(" not in text.partition("<body>")[0]
    assert "@import" not in text


def test_colours_follow_the_reader() -> None:
    text = report_html(make_session())
    assert f"--surface:{LIGHT.surface}" in text
    assert f"--surface:{DARK.surface}" in text
    picture = text[text.index("<svg") : text.index("</svg>")]
    assert 'fill="var(--surface)"' in picture
    for name in ("grid_major", "text_muted", "axis"):
        assert f'"{getattr(LIGHT, name)}"' not in picture


def test_three_hundred_points_are_under_a_megabyte() -> None:
    session = load(ASSETS / "sessions" / "h200.roofscope")
    assert len(session.points) > 280
    assert len(report_html(session).encode()) < 1_000_000


def test_sources_that_are_too_much_are_left_out_and_counted() -> None:
    session = make_session()
    hashes = list(dict.fromkeys(point.implementation.source_hash for point in session.points))
    session.sources = {
        source_hash: (SourceFile(f"{number}.cu", f"{number:064}", "x" * 300_000),)
        for number, source_hash in enumerate(hashes[:3])
    }
    page = Page(report_html(session))
    assert page.counts()["pre"] == 1
    assert "2 more are too long for a report" in page.all_text()


def test_a_file_of_several_implementations_stands_once() -> None:
    session = make_session()
    shared = SourceFile("shared.cuh", "1" * 64, "struct shared;")
    session.sources = {point.implementation.source_hash: (shared,) for point in session.points[:4]}
    page = Page(report_html(session))
    assert page.counts()["pre"] == 1


def test_an_empty_session_has_a_report_as_well() -> None:
    page = Page(report_html(empty_session()))
    assert not page.still_open
    assert "0 points" in page.all_text()


def test_tables_have_heads_and_captions() -> None:
    page = Page(report_html(make_session()))
    assert page.counts()["table"] == page.counts()["caption"] == page.counts()["thead"]
    assert all(attrs.get("scope") for tag, attrs in page.tags if tag == "th")
    assert all(attrs.get("aria-label") for tag, attrs in page.tags if tag == "svg")


def test_the_device_shown_stays_shown() -> None:
    session = make_session()
    before = session.device
    report_html(session)
    assert session.device is before


def test_the_template_escapes_everything() -> None:
    template = TEMPLATE.read_text()
    assert not re.search(r"\|\s*safe", template)
    assert "autoescape" not in template


def test_the_command_writes_beside_the_session_or_where_it_is_said(tmp_path: Path) -> None:
    recorded = ASSETS / "sessions" / "h200-gelu.roofscope"
    out = tmp_path / "a.html"
    done = CliRunner().invoke(cli, ["report", str(recorded), "--out", str(out)])
    assert (done.exit_code, done.output) == (0, f"{out}\n")
    assert out.read_text().startswith("<!DOCTYPE html>")
    done = CliRunner().invoke(cli, ["report", str(recorded), "--out", str(tmp_path / "a.svg")])
    assert done.exit_code == 2
    assert "does not end in .html or .htm; name it a.html" in done.output


def test_what_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"does not end in \.html or \.htm"):
        write_report(make_session(), tmp_path / "a.pdf")
    with pytest.raises(ExportError, match="there is no folder"):
        write_report(make_session(), tmp_path / "no" / "a.html")


def test_it_has_what_the_user_wrote_of_points() -> None:
    session = make_session()
    number = next(point.number for point in session.points if point.measured)
    session.marks = {number: Mark(note=f"<b>slow</b> {HOSTILE}", tags=("release",))}
    page = Page(report_html(session))
    assert "release · <b>slow</b>" in page.all_text()
    assert any(attrs.get("id") == "notes" for _, attrs in page.tags)
    assert not page.still_open
    assert "Notes" not in Page(report_html(make_session())).all_text()
