"""What an assistant and the server said to each other, as Markdown: long sources once, answers in part."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from roofscope import __version__

_LEFT_OUT = {"log", "tags", "is_pinned", "recorded_at", "advice", "limiter", "source_sha256", "workload"}
_DIGITS = 4
_HEAD = (
    "Written by `main.py -m roofscope.benchmarks.agent_gelu`, a scripted assistant, on {}, {}, Roofscope "
    "{}: GELU of {}, from a naive version to the roof. Answers are shown in part: what is unknown, logs and "
    "hashes are left out. [agents.md](agents.md) teaches the tools."
)


class Transcript:
    def __init__(self, what: str) -> None:
        self._what = what
        self._lines: list[str] = []
        self._rows: list[tuple[str, str, str, str]] = []
        self.device = ""

    @property
    def is_empty(self) -> bool:
        return not self._lines

    def began(self, instructions: str, tools: Sequence[str]) -> None:
        first = instructions.partition("\n\n")[0]
        greeting = f"The server greets with its tools ({', '.join(tools)}) and a hint:"
        self._lines += [greeting, "", f"> {first}", ""]

    def thought(self, text: str) -> None:
        self._lines += [text, ""]

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        answer: dict[str, Any] | str,
        shown: Sequence[str],
        progress: Sequence[str],
    ) -> None:
        """Only the fields of an answer that are ``shown``, of those what is known."""
        source = arguments.get("source", "")
        others = {name: value for name, value in arguments.items() if name != "source"}
        self._lines += [f"`{tool}` {json.dumps(others, ensure_ascii=False)}", ""]
        if source:
            self._lines += ["```python", source.rstrip(), "```", ""]
        if len(progress) > 1:
            middle = progress[len(progress) // 2]
            self._lines += [f"Progress, {len(progress)} notices, such as: {middle}", ""]
        if isinstance(answer, str):
            self._lines += [f"> {answer}", ""]
            return
        part = _known({name: answer[name] for name in shown if name in answer})
        if part:
            self._lines += ["```json", json.dumps(part, indent=1, ensure_ascii=False), "```", ""]

    def table(self, rows: Sequence[tuple[str, str, str, str]]) -> None:
        self._rows = [*rows]

    def text(self) -> str:
        at = datetime.now(UTC).date().isoformat()
        where = self.device or "no device"
        head = ["# A conversation with the tools", "", _HEAD.format(where, at, __version__, self._what), ""]
        if self._rows:
            head += ["| version | time of a call | of its roof | verdict |", "| --- | --- | --- | --- |"]
            head += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in self._rows]
            head.append("")
        return "\n".join([*head, *self._lines]).rstrip() + "\n"


def _known(value: Any) -> Any:
    """Without nulls, empty texts and lists, and what no reader wants; floats in a few digits."""
    match value:
        case dict():
            kept = {name: _known(one) for name, one in value.items() if name not in _LEFT_OUT}
            return {name: one for name, one in kept.items() if one not in (None, "", [], {})}
        case list():
            return [_known(one) for one in value]
        case float():
            return float(f"{value:.{_DIGITS}g}")
        case _:
            return value
