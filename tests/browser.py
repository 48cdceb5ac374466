"""A real headless Chromium behind two pipes. It resolves no name, so that it reaches this machine only."""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
            *(
                "--disable-dev-shm-usage",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--remote-debugging-pipe",
            ),
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

    def open(self, url: str) -> None:
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
        self.ask("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def point_at(self, selector: str) -> None:
        x, y = self._middle(selector)
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """As a user does, which alone may open tabs."""
        x, y = self._middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def turn_to(self, url: str) -> None:
        """Look at the other tab that shows this address."""
        self._session = ""
        pages = self.ask("Target.getTargets")["targetInfos"]
        [target] = [page["targetId"] for page in pages if page["url"].startswith(url)]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def _middle(self, selector: str) -> tuple[float, float]:
        x, y = self.run(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        return x, y

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
