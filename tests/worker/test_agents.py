"""The tools over stdio, as a client uses them: a process of its own for the server, and workers below it."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from roofscope.benchmarks import agent_gelu
from roofscope.profiling.process_tree import descendants_of
from roofscope.profiling.results.outcome import Failed
from roofscope.profiling.results.session_reader import load
from roofscope.tests.worker.command_line import keep_ceilings

ROOT = Path(__file__).resolve().parents[2]
RELU = {"name": "relu.py", "reference": "torch.relu(x)", "inputs": ["x=4096"], "beside": False}
# While it is built, for which there are minutes: a call would be ended after ten seconds.
STUCK = "import time\n\nNAP = time.sleep(3600)\n\n\ndef relu(x):\n    return x.relu() if NAP is None else x\n"
_HANGS_S = 240.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    keep_ceilings(tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def words(home: Path) -> list[str]:
    return ["-P", str(ROOT / "main.py"), "mcp", str(home / "a.roofscope"), "--device", "cpu"]


@asynccontextmanager
async def connected(home: Path) -> AsyncIterator[Client]:
    server = StdioServerParameters(command=sys.executable, args=words(home), env=dict(os.environ))
    async with Client(server, mode="legacy") as client:
        yield client


async def said(client: Client, tool: str, **arguments: Any) -> str:
    """The text of an answer, or of a fault."""
    result = await client.call_tool(tool, arguments)
    return "".join(getattr(part, "text", "") for part in result.content)


@pytest.mark.timeout(900)
def test_a_scripted_assistant_goes_from_a_naive_version_to_a_fused_one(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All five tools, a version that cheats among them; the transcript says what was said."""
    transcript, session = home / "t.md", home / "gelu.roofscope"
    code = agent_gelu.main(
        ["--n", "65536", "--versions", "1,3,4", "--device", "cpu", "--session", str(session),
         "--transcript", str(transcript)]
    )  # fmt: skip
    out, err = capfd.readouterr()
    assert (code, err) == (0, ""), err
    text = transcript.read_text(encoding="utf-8")
    for tool in ("what_is_here", "measure_file", "why", "compare", "session"):
        assert f"`{tool}` " in text
    rows = [line.split("  ") for line in out.splitlines()]
    assert [row[0] for row in rows] == ["slices of 512, in double", "keeps its result", "one fused operation"]
    known = load(session)
    kept = [point for point in known.points if isinstance(point.outcome, Failed)]
    assert [known.marks[point.number].note for point in kept] == ["keeps its result"]
    of_kernel = [point for point in known.points if point.implementation.stem == "eager_gelu"]
    assert len({point.implementation.source_hash for point in of_kernel[:3]}) == 3
    assert sum(point.implementation.kernel.startswith("turn_") for point in known.points) == 2
    assert all(point.origin is not None for point in known.points)
    assert known.environment is not None
    assert known.environment.version("torch")


def test_faults_are_one_sentence_each_and_the_server_goes_on(home: Path) -> None:
    async def talk() -> None:
        async with connected(home) as client:
            for tool, arguments, sentence in (
                ("measure_file", {"pth": "x"}, "unknown field pth"),
                ("measure_file", {"path": "/none.py"}, "There is no file /none.py."),
                ("measure_file", {"source": "x\0"}, "NUL"),
                ("measure_file", {"source": "#" * (1 << 20) + "#"}, "more than"),
                ("why", {}, "call measure_file first"),
                ("compare", {"a": 1}, "missing required field b"),
                ("session", {"note": "x"}, "give its number"),
                ("nothing", {}, "There is no tool 'nothing'; there are what_is_here"),
            ):
                result = await client.call_tool(tool, arguments)
                (part,) = result.content
                assert result.is_error
                assert sentence in part.text
                assert "\n" not in part.text
            here = await client.call_tool("what_is_here", {})
            assert not here.is_error
            assert json.loads(here.content[0].text) == here.structured_content

    asyncio.run(talk())


@pytest.mark.timeout(600)
def test_a_cancelled_measurement_ends_its_worker_and_frees_the_device(home: Path) -> None:
    async def talk() -> None:
        async with connected(home) as client:
            heard = asyncio.Event()

            async def hear(_: float, __: float | None, message: str | None) -> None:
                if "build" in (message or ""):
                    heard.set()

            stuck = asyncio.create_task(
                client.call_tool("measure_file", {**RELU, "source": STUCK}, progress_callback=hear)
            )
            await asyncio.wait_for(heard.wait(), _HANGS_S)
            assert "Another measurement is under way" in await said(
                client, "measure_file", **RELU, source="x"
            )
            (server,) = [one for one in descendants_of(os.getpid()) if _is_server(one)]
            assert len(descendants_of(server)) > 1
            stuck.cancel()
            with pytest.raises(asyncio.CancelledError):
                await stuck
            until = time.monotonic() + _HANGS_S
            while descendants_of(server) and time.monotonic() < until:
                await asyncio.sleep(0.2)
            assert not descendants_of(server)
            right = {**RELU, "source": "def relu(x):\n    return x.relu()\n"}
            while "under way" in (answer := await said(client, "measure_file", **right)):
                await asyncio.sleep(0.2)
            assert json.loads(answer)["measured"][0]["is_verified"]

    asyncio.run(talk())


@pytest.mark.timeout(600)
def test_a_deadline_ends_a_measurement_with_a_sentence(home: Path) -> None:
    async def talk() -> None:
        async with connected(home) as client:
            answer = await said(client, "measure_file", **RELU, source=STUCK, deadline_s=2)
            assert "its deadline of 2 s" in answer

    asyncio.run(talk())


@pytest.mark.timeout(600)
def test_a_client_that_dies_takes_server_and_worker_with_it(home: Path) -> None:
    with (home / "stderr.log").open("wb") as log:
        command = [sys.executable, *words(home)]
        pipe = subprocess.PIPE
        server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True)
    assert server.stdin
    assert server.stdout
    server.stdin.buffer.write(b"no message\n\xff\xfe\n[1, 2]\n" + b"{" * 100_000 + b"\n")

    def send(**message: Any) -> None:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    send(id=1, method="initialize", params=hello)
    assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "roofscope"
    send(method="notifications/initialized")
    params = {"name": "measure_file", "arguments": {**RELU, "source": STUCK}, "_meta": {"progressToken": 7}}
    send(id=2, method="tools/call", params=params)
    while "build" not in server.stdout.readline():
        pass
    below = descendants_of(server.pid)
    assert below
    server.stdin.close()
    server.stdout.close()
    assert server.wait(_HANGS_S) is not None
    until = time.monotonic() + _HANGS_S
    while any(Path(f"/proc/{one}").exists() for one in below) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [one for one in below if Path(f"/proc/{one}").exists()]
    assert "Traceback" not in (home / "stderr.log").read_text(errors="replace")


def _is_server(pid: int) -> bool:
    return b"mcp" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
