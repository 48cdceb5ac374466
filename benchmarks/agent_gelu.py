"""A scripted assistant: drives the tools of `roofscope mcp` from a naive GELU to one at its roof.

    python3 main.py -m roofscope.benchmarks.agent_gelu [--transcript docs/agents-transcript.md] [--n 67108864]
        [--session FILE] [--device cuda:0] [--reach 0.95] [--deadline 600]

Starts the server as a client does, over stdin and stdout, calls the five tools and writes what was said on
both sides as Markdown. On a CPU eager PyTorch stands in for Triton. Exits with 1 where a call fails, where a
version that keeps its result has a time without a flag, or on a GPU where the last version reaches less than
--reach of its roof.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from roofscope.app.presentation.formatting import MISSING, percent_text, time_text
from roofscope.benchmarks.agent_transcript import Transcript
from roofscope.benchmarks.agent_versions import STAND_INS, TRITON, Version
from roofscope.profiling.paths import PACKAGE

Found = list[tuple[Version, dict[str, Any]]]  # what each version came to, as measure_file answers it

REFERENCE = "torch.nn.functional.gelu(x, approximate='tanh')"


class Failure(Exception):
    """The conversation did not go as it must; the text is a sentence."""


class Assistant:
    """What calls the tools, and writes down what it asked and heard."""

    def __init__(self, client: Client, transcript: Transcript, options: argparse.Namespace) -> None:
        self._client = client
        self._said = transcript
        self._options = options

    async def call(self, tool: str, arguments: dict[str, Any], shown: Sequence[str]) -> dict[str, Any]:
        progress: list[str] = []

        async def hear(_: float, __: float | None, message: str | None) -> None:
            progress.append(message or "")

        result = await self._client.call_tool(tool, arguments, progress_callback=hear)
        text = " ".join(getattr(part, "text", "") for part in result.content)
        answer = result.structured_content if not result.is_error else None
        self._said.call(tool, arguments, answer or text, shown, progress)
        if answer is None:
            raise Failure(f"{tool} was refused: {text}")
        return answer

    async def measure(self, version: Version, *, is_first: bool) -> dict[str, Any]:
        self._said.thought(f"**{version.name}.** {version.reason}")
        arguments: dict[str, Any] = {"source": version.source, "name": "gelu.py"}
        if is_first:
            arguments |= {"reference": REFERENCE, "inputs": [f"x={self._options.n}"]}
        arguments |= {} if is_first else {"beside": False}
        arguments |= {"deadline_s": self._options.deadline}
        if not self._options.ceilings:
            arguments["ceilings"] = False
        shown = ("measured", "beside", "problem") if is_first else ("measured", "problem")
        (measured,) = (await self.call("measure_file", arguments, shown))["measured"]
        return measured

    async def work(self, versions: Sequence[Version]) -> Found:
        """The whole conversation."""
        found: Found = []
        self._said.thought("What can this machine do, and what has been measured before?")
        await self.call("what_is_here", {}, ("summary", "doctor", "point_count"))
        for version in versions:
            measured = await self.measure(version, is_first=not found)
            found.append((version, measured))
            if version.is_refused:
                _require_refused(version, measured)
            else:
                _require_time(version, measured)
            self._said.thought("Why is it there?" if measured["is_verified"] else "Why has it no time?")
            await self.call("why", {"point": measured["point"]}, ("summary", "why", "why_not"))
            note = {"point": measured["point"], "note": version.name, "limit": 1}
            await self.call("session", note, ())
        honest = [measured for version, measured in found if not version.is_refused]
        self._said.thought("Is the last version faster than the first, and than the one before it?")
        first, before, last = honest[0]["point"], honest[-2]["point"], honest[-1]["point"]
        shown = ("summary", "ratio", "ratio_low", "ratio_high", "change", "common_rounds", "between_runs")
        await self.call("compare", {"a": first, "b": last}, shown)
        if self._options.in_turn:
            turn = {"a": before, "b": last, "in_turn": True, "deadline_s": self._options.deadline}
            await self.call("compare", turn, shown)
        self._said.thought("What has this session come to?")
        await self.call("session", {"kernel": "gelu.py"}, ("point_count", "best"))
        return found


def _require_time(version: Version, measured: dict[str, Any]) -> None:
    if not measured["is_verified"]:
        raise Failure(f"{version.name} has no time: {measured['summary']}")


def _require_refused(version: Version, measured: dict[str, Any]) -> None:
    if measured["is_verified"] and not any(flag["is_warning"] for flag in measured["flags"]):
        raise Failure(f"{version.name} has a time without a flag: {measured['summary']}")


async def converse(
    options: argparse.Namespace, transcript: Transcript
) -> list[tuple[Version, dict[str, Any]]]:
    """Start the server, talk to it and end it."""
    words = ["-P", str(PACKAGE / "main.py"), "mcp", str(options.session)]
    words += ["--device", options.device] if options.device else []
    server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
    async with Client(server) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        transcript.began(client.instructions or "", sorted(tools))
        here = (await client.call_tool("what_is_here", {})).structured_content or {}
        is_gpu = here["device"]["kind"] == "cuda"
        transcript.device = here["device"]["name"]
        versions = TRITON if is_gpu else STAND_INS
        if options.versions:
            versions = tuple(versions[int(number) - 1] for number in options.versions.split(","))
        found = await Assistant(client, transcript, options).work(versions)
    last = found[-1][1]["fraction_of_roof"]
    if is_gpu and not (last and last >= options.reach):
        raise Failure(f"The last version reaches {percent_text(last)} of its roof.")
    return found


def table(found: Found) -> list[tuple[str, str, str, str]]:
    """A row a version: its name, its time or its failure, its share of the roof, its verdict."""
    return [
        (
            version.name,
            time_text(measured["median_s"]) if measured["median_s"] else measured["failure_kind"] or MISSING,
            percent_text(measured["fraction_of_roof"]),
            measured["verdict"],
        )
        for version, measured in found
    ]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--transcript", type=Path, help="the Markdown file to write")
    parser.add_argument("--session", type=Path, help="the session; a temporary one if none")
    parser.add_argument("--device", default="")
    parser.add_argument("--n", type=int, default=1 << 26, help="elements")
    parser.add_argument("--reach", type=float, default=0.95)
    parser.add_argument("--deadline", type=float, default=600.0)
    parser.add_argument("--versions", default="", help="only these, as in 1,3,4")
    parser.add_argument("--no-ceilings", dest="ceilings", action="store_false")
    parser.add_argument("--not-in-turn", dest="in_turn", action="store_false")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        options.session = options.session or Path(folder, "gelu.roofscope")
        transcript = Transcript(f"x={options.n} float32")
        problem, found = "", Found()
        try:
            found = asyncio.run(converse(options, transcript))
        except* Failure as failures:
            problem = " ".join(map(str, failures.exceptions))
        rows = table(found)
        transcript.table(rows)
        if options.transcript and not transcript.is_empty:
            options.transcript.write_text(transcript.text(), encoding="utf-8")
    for row in rows:
        print("  ".join(row))
    if problem:
        print(problem, file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
