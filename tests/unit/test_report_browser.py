"""The report in a browser: hover works, no request leaves, script tags in names stay text.

Chromium is driven through a pipe; names resolve to nothing, so that it can reach nothing.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roofscope.app.presentation.report.page import report_html
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session_reader import load
from roofscope.tests.recorded import GELU
from roofscope.tests.sweeps import sweep_session
from roofscope.tests.unit.test_report import HOSTILE, hostile_session

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# It looks for its pipes at 3 and 4; both are first copied away from there.
_LAUNCH = """
import fcntl, os, sys
copies = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 64) for number in sys.argv[1:3]]
for number, copy in zip((3, 4), copies):
    os.dup2(copy, number)
os.execv(sys.argv[3], sys.argv[3:])
"""
WAIT_S = 120.0  # only what hangs takes that long

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


class Browser:
    """A headless Chromium behind two pipes, as its DevTools protocol has it: messages end in a null byte."""

    def __init__(self, folder: Path) -> None:
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        words = [
            *(
                str(CHROMIUM),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-sync",
            ),
            *("--disable-background-networking", "--disable-component-update", "--disable-extensions"),
            *("--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe"),
            f"--user-data-dir={folder}",
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(commands), str(answers), *words],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        self._session = ""

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        number = self._number
        answer = self._until(lambda found: found.get("id") == number)
        assert "error" not in answer, answer
        return answer["result"]

    def wait_for(self, method: str) -> None:
        if not any(event["method"] == method for event in self.events):
            self._until(lambda found: found.get("method") == method)

    def run(self, script: str) -> Any:
        found = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def open(self, path: Path) -> None:
        """In a page of its own."""
        self._session = ""
        self.events.clear()
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False
        )
        self.ask("Page.navigate", url=path.as_uri())
        self.wait_for("Page.loadEventFired")

    def point_at(self, selector: str) -> None:
        x, y = self.run(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def _until(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + WAIT_S
        while True:
            *whole, self._rest = self._rest.split(b"\0")
            for place, text in enumerate(whole):
                message = json.loads(text)
                if "method" in message:
                    self.events.append(message)
                if is_it(message):
                    self._rest = b"\0".join((*whole[place + 1 :], self._rest))
                    return message
            ready, _, _ = select.select([self._answers], [], [], max(deadline - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            read = os.read(self._answers, 1 << 20)
            assert read, "the browser has ended"
            self._rest += read


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


def opened(browser: Browser, path: Path, text: str) -> Path:
    path.write_text(text)
    browser.open(path)
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
