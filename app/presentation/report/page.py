"""``roofscope report`` and File > Report: a session as one HTML file that fetches nothing."""

from pathlib import Path

import jinja2
from markupsafe import Markup

from roofscope import __version__
from roofscope.app.presentation.report import content, machine
from roofscope.app.presentation.report.method import METHOD
from roofscope.app.presentation.report.pictures import DARK_VARIABLES, LIGHT_VARIABLES, inline_picture
from roofscope.app.presentation.roofline.svg import roofline_svg
from roofscope.app.presentation.sweep.scene import sweeps_of
from roofscope.app.presentation.sweep.svg import sweep_svg
from roofscope.app.presentation.tokens import PROVIDER_COLOURS
from roofscope.app.presentation.tuning import COLUMNS as TRIED_COLUMNS
from roofscope.profiling.plain_text import visible
from roofscope.profiling.results.session import Session

TEMPLATE = Path(__file__).with_name("report.html.jinja")
_LEAST_SIZES = 3  # two sizes are two rows of the table
_MOST_SWEEPS = 24
_LARGE, _SMALL = (1180, 720), (640, 430)  # pixels


def report_html(session: Session) -> str:
    """The page as text."""
    judged = content.judged_rows(session)
    rows = content.result_rows(judged, session)
    titles = {row.number: _title(row) for row in rows}
    rooflines, sweeps = _pictures(session, titles)
    sources, left_out = content.source_texts(session)
    return (
        _environment()
        .from_string(TEMPLATE.read_text(encoding="utf-8"))
        .render(
            version=__version__,
            title=content.title_of(session),
            counts=content.count_text_of(session),
            created=session.created_at[:10],
            problems=session.problems,
            light=LIGHT_VARIABLES,
            dark=DARK_VARIABLES,
            provider_colours={str(provider): colour for provider, colour in PROVIDER_COLOURS.items()},
            rooflines=rooflines,
            sweeps=sweeps,
            best=content.best_rows(judged, session),
            columns=content.COLUMNS,
            rows=rows,
            footnotes=content.footnotes(rows, session),
            tunings=content.tunings_of(judged, titles),
            tried_columns=TRIED_COLUMNS,
            notes=content.notes_of(session, titles),
            method=METHOD,
            devices=machine.device_facts(session),
            environment=machine.environment_facts(session),
            ceilings=machine.ceiling_rows(session),
            proofs=machine.proof_rows(session),
            sources=sources,
            sources_left_out=left_out,
        )
    )


def _environment() -> jinja2.Environment:
    def shown(value: object) -> object:
        """Nothing in a text acts on the reading order; our own markup stays."""
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return jinja2.Environment(
        autoescape=True,
        finalize=shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _title(row: content.ResultRow) -> str:
    return ", ".join((row.title, *(cell.text for cell in row.cells[4:6] if cell.text)))


def _pictures(session: Session, titles: dict[int, str]) -> tuple[list[Markup], list[Markup]]:
    """Rooflines and sweeps of each device with a measured point; the one that was shown is shown again."""
    shown = session.device
    rooflines: list[Markup] = []
    sweeps: list[Markup] = []
    for device in session.devices:
        session.show(device)
        if not any(point.measured and session.is_shown(point) for point in session.points):
            continue
        rooflines.append(inline_picture(roofline_svg(session, _LARGE), titles))
        for options in sweeps_of(session, _LEAST_SIZES):
            if len(sweeps) < _MOST_SWEEPS:
                sweeps.append(inline_picture(sweep_svg(session, options, _SMALL), titles))
    if shown:
        session.show(shown)
    return rooflines, sweeps
