"""The report in a browser: hover works, no request leaves, script tags in names stay text.

Chromium is driven through a pipe; names resolve to nothing, so that it can reach nothing.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from roofscope.app.presentation.report.page import report_html
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session_reader import load
from roofscope.tests.browser import CHROMIUM, Browser
from roofscope.tests.recorded import GELU
from roofscope.tests.sweeps import sweep_session
from roofscope.tests.unit.test_report import HOSTILE, hostile_session

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


def opened(browser: Browser, path: Path, text: str) -> Path:
    path.write_text(text)
    browser.open(path.as_uri())
    return path


def requests(browser: Browser) -> list[str]:
    sent = [event["params"] for event in browser.events if event["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


def test_hover_shows_what_a_point_is(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path / "a.html", report_html(sweep_session()))
    assert browser.run("document.getElementById('hover').hidden")
    dot = "#sweeps [data-point]"
    browser.run(f"document.querySelector('{dot}').scrollIntoView({{block: 'center'}})")
    browser.point_at(dot)
    number = browser.run(f"document.querySelector('{dot}').dataset.point")
    assert not browser.run("document.getElementById('hover').hidden")
    text = browser.run("document.getElementById('hover').textContent")
    for place in (4, 5, 7):
        assert browser.run(f"document.getElementById('point-{number}').cells[{place}].textContent") in text
    browser.point_at("h1")
    browser.run("scrollTo(0, 0)")
    browser.point_at("h1")
    assert browser.run("document.getElementById('hover').hidden")


def test_no_column_is_cut_at_1200_pixels(browser: Browser, tmp_path: Path) -> None:
    session = load(ASSETS / "sessions" / "h200.roofscope")
    opened(browser, tmp_path / "a.html", report_html(session))
    browser.ask(
        "Emulation.setDeviceMetricsOverride", width=1200, height=900, deviceScaleFactor=1, mobile=False
    )
    wide = "(() => { const box = document.querySelector('#results .scroll');"
    assert browser.run(f"{wide} return box.scrollWidth <= box.clientWidth; }})()")
    browser.run("document.querySelectorAll('#points details').forEach(each => each.open = true)")
    assert browser.run(f"{wide} return box.scrollWidth <= box.clientWidth; }})()")
    assert browser.run("document.documentElement.scrollWidth") <= 1200


def test_the_card_says_what_limits_a_point_and_what_that_costs(browser: Browser, tmp_path: Path) -> None:
    session = load(GELU)
    opened(browser, tmp_path / "a.html", report_html(session))
    browser.run("document.querySelector('#roofline [data-point=\"6\"]').focus()")
    text = browser.run("document.getElementById('hover').textContent")
    assert "Double arithmetic limits it, not memory. That costs 267.9 µs of its 393.5 µs" in text


def test_the_roofline_answers_as_well_and_a_click_leads_to_the_row(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path / "a.html", report_html(sweep_session()))
    browser.point_at("#roofline [data-point]")
    number = browser.run("document.querySelector('#roofline [data-point].on')?.dataset.point")
    assert number
    browser.run(
        f"document.querySelector('#roofline [data-point=\"{number}\"]').dispatchEvent(new Event('click'))"
    )
    assert browser.run("document.querySelector('tr.on').id") == f"point-{number}"


def test_a_column_sorts_and_the_filter_filters(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path / "a.html", report_html(sweep_session()))
    press = "document.querySelectorAll('#points thead button')[4].click()"
    keys = "[...document.querySelectorAll('#points tbody tr')].map(row => Number(row.cells[4].dataset.key))"
    first = browser.run(keys)
    browser.run(press)
    found = browser.run(keys)
    timed = [key for key in found if key is not None]
    assert timed == sorted(timed)
    assert found[-1] is None  # what has no time is last
    browser.run(press)
    again = [key for key in browser.run(keys) if key is not None]
    assert again == timed[::-1]
    browser.run(press)
    assert browser.run(keys) == first
    browser.run(
        "(() => { const box = document.getElementById('filter'); box.value = 'triton second';"
        "box.dispatchEvent(new Event('input')); })()"
    )
    rows = "[...document.querySelectorAll('#points tbody tr:not([hidden])')]"
    shown = browser.run(f"{rows}.map(row => row.cells[1].textContent)")
    assert set(shown) == {"Triton second"}


def test_script_in_a_name_stays_text(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path / "a.html", report_html(hostile_session()))
    assert browser.run("document.scripts.length") == 1
    assert not [event for event in browser.events if event["method"] == "Page.javascriptDialogOpening"]
    start = HOSTILE.partition("\u202e")[0]
    assert browser.run("document.querySelector('#points tbody th').textContent").startswith(start)
    browser.point_at("#roofline [data-point], #sweeps [data-point]")
    assert browser.run("document.querySelector('#hover').querySelectorAll('script').length") == 0
    faults = [
        event["params"]["entry"]["text"] for event in browser.events if event["method"] == "Log.entryAdded"
    ]
    assert faults == []


def test_no_request_leaves(browser: Browser, tmp_path: Path) -> None:
    path = opened(browser, tmp_path / "a.html", report_html(hostile_session()))
    browser.point_at("[data-point]")
    assert set(requests(browser)) == {path.as_uri()}
    # Even a script that got in could send nothing.
    tried = browser.run("fetch('http://127.0.0.1:9/').then(() => 'sent', error => error.name)")
    assert tried == "TypeError"
    failed = [event["params"] for event in browser.events if event["method"] == "Network.loadingFailed"]
    assert not failed or {params.get("blockedReason") for params in failed} == {"csp"}
    assert any(
        "Content Security Policy" in event["params"]["entry"]["text"]
        for event in browser.events
        if event["method"] == "Log.entryAdded"
    )
