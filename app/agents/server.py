"""The tools over MCP on stdio: no socket is opened, and stdout belongs to the protocol.

Only this module imports `mcp`.
"""

import logging
import traceback
from typing import Any

import anyio
import anyio.to_thread
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from msgspec import Struct

from roofscope import __version__
from roofscope.app.agents.control import Control
from roofscope.app.agents.requests import AgentFault, schema_of
from roofscope.app.agents.tools import INSTRUCTIONS, TOOLS, Tool, tool_named
from roofscope.app.agents.workbench import Workbench
from roofscope.profiling.analysis.export import json_text
from roofscope.profiling.decoding import decode
from roofscope.profiling.plain_text import one_line

_LOOK_S = 0.5
_SAY_S = 10.0  # so that a client does not take it for dead
_Context = ServerRequestContext[Any, Any]


def serve(bench: Workbench) -> None:
    """Until the client closes stdin; what is measured then is stopped, and its worker ends with it."""
    logging.disable(logging.WARNING)  # of the protocol's library: stderr is for what a user must know
    try:
        anyio.run(_serve, bench)
    except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the client is gone: nobody is left to answer
    finally:
        bench.close()


async def _serve(bench: Workbench) -> None:
    async def list_tools(_: _Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def call_tool(context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tool_named(params.name)
        if tool is None:
            known = ", ".join(tool.name for tool in TOOLS)
            return _fault(f"There is no tool {one_line(params.name)[:100]!r}; there are {known}.")
        return await _called(bench, tool, params.arguments, context)

    server: Server[Any] = Server(
        "roofscope",
        version=__version__,
        title="Roofscope",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _called(
    bench: Workbench, tool: Tool[Any], arguments: object, context: _Context
) -> types.CallToolResult:
    """A tool in a thread of its own; a client that cancels the call stops what it measures."""
    control = Control()

    def do() -> types.CallToolResult:
        try:
            return _answer(tool.call(bench, arguments, control))
        except AgentFault as fault:
            return _fault(str(fault))
        except Exception as error:  # noqa: BLE001 - a fault of ours ends one call, and not the server
            traceback.print_exc()
            return _fault(
                f"{tool.name} failed by a fault of Roofscope itself: {one_line(repr(error))[:300]}; "
                "the server's stderr has the traceback."
            )

    async with anyio.create_task_group() as group:
        group.start_soon(_report, context, control)
        try:
            return await anyio.to_thread.run_sync(do, abandon_on_cancel=True)
        finally:
            control.stop()  # where it is over, nothing is left to stop
            group.cancel_scope.cancel()
    raise AssertionError("the task group swallows nothing")


async def _report(context: _Context, control: Control) -> None:
    """What is under way, where it has changed, and now and then; a client that did not ask hears nothing."""
    began = said_at = anyio.current_time()
    said = ""
    while True:
        await anyio.sleep(_LOOK_S)
        now = anyio.current_time()
        if (text := control.text) != said or now - said_at > _SAY_S:
            said, said_at = text, now
            await context.session.report_progress(round(now - began, 1), None, text)


def _described(tool: Tool[Any]) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema_of(tool.asks),
        output_schema=schema_of(tool.answers),
        annotations=types.ToolAnnotations(
            title=tool.title, read_only_hint=tool.is_read_only, destructive_hint=False, open_world_hint=False
        ),
    )


def _answer(answer: Struct) -> types.CallToolResult:
    """The same document twice: as data, and as text for clients that show only that."""
    text = json_text(answer)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=decode(text, dict)
    )


def _fault(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=sentence)], is_error=True)
