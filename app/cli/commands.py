"""The commands by name. Each is a module of this folder: its options, and beside them what it does.

Its module is imported when it is called, so that help and completion wait for nothing that measures or draws.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from roofscope import __version__
from roofscope.app.cli.errors import OUTPUT_LOST, PIPE_CLOSED, Refused, complain, print_fault, unknown
from roofscope.app.cli.output import OutputLost, say

COMMANDS = {
    "run": "Verify and time kernels; print a table and write a session file.",
    "show": "Print the table of a recorded session again.",
    "source": "Print a point's source, what compilers made of it, or how two differ.",
    "why": "Say what limits each point, what that costs, the evidence, and the next step.",
    "lesson": "Show a kernel from textbook to best, with figures, lines and an exercise.",
    "tuning": "Say what autotuners tried: each configuration's time, or why it was left out.",
    "compile-report": "Say whether torch.compile is worth it: its modes side by side, by workload.",
    "project": "Bound a session's points by another GPU's data sheet.",
    "list": "Say which kernels there are, in which implementations, types and sizes.",
    "export": "Write a session's points, roofline or traces in another format.",
    "compare": "Set two sessions side by side, or the pins or the edits of one.",
    "pin": "Pin a point of a session, or note and tag it.",
    "delete": "Leave points out of a session, or bring them back.",
    "plot": "Draw a session's roofline, or a kernel over its sizes, as SVG or PNG.",
    "report": "Write a session as one HTML file that stands for itself.",
    "salvage": "Write what is whole of a damaged session to a new one.",
    "trace": "Record a profiler trace of a measured point into its session, or open one from anywhere.",
    "counters": "Count the bytes that points really move, at DRAM, L2 and L1.",
    "ceilings": "Measure the most a device can do, beside what its data sheet says.",
    "selftest": "Prove on this device that the measured number is the true one.",
    "device": "Print the sheet of the GPU or the CPU.",
    "trust": "Say which folders of kernels may run here, and add or remove one.",
    "doctor": "Say what is available here, what is missing, and the exact fix.",
    "mcp": "Serve five tools to an assistant, over stdin and stdout.",
    "schema": "Print the JSON Schema of what --json prints.",
    "open": "Open a session in the window.",
}


_AS_JSON = "roofscope.as_json"  # whether --json is among the words


# What a command's first word may be, each with its module; other words go to the first one.
_SUBCOMMANDS = {
    "trace": {
        "record": "trace",
        "open": "trace_file",
        "export": "trace_export",
        "repair": "trace_repair",
        "compare": "trace_compare",
        "roofline": "trace_roofline",
    }
}


def load_command(name: str) -> Any:
    """The command as typer makes it of the function ``command`` in its module."""
    if name in _SUBCOMMANDS:
        group = typer.Typer(cls=_WithDefault, add_completion=False, rich_markup_mode=None)
        group.callback(help=COMMANDS[name])(_nothing)
        for word, module in _SUBCOMMANDS[name].items():
            group.command(word)(import_module(f"roofscope.app.cli.{module}").command)
        return typer.main.get_command(group)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name)(import_module(f"roofscope.app.cli.{name.replace('-', '_')}").command)
    return typer.main.get_command(app)


def _nothing() -> None:
    """A group does nothing by itself."""


class _WithDefault(TyperGroup):
    """``trace SESSION POINT`` records, as ``trace record SESSION POINT`` does."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


class Commands(TyperGroup):
    """Loads a command when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS:
            return load_command(cmd_name)
        return None if ctx.resilient_parsing else unknown("command", cmd_name, COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_AS_JSON] = "--json" in args or any(word.startswith("--json-in") for word in args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """A reader that has enough, as ``head`` has, closes the pipe: no news for anybody."""
        try:
            return _flushed(lambda: self._invoke(ctx))
        except BrokenPipeError:
            _forget_stdout()
            raise typer.Exit(PIPE_CLOSED) from None

    def _invoke(self, ctx: Any) -> Any:
        """Where a document was asked for, a command that did nothing prints one that says why."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if ctx.meta[_AS_JSON] and (sentence := _fault_of(error)):
                print_fault(sentence)
            raise

    def main(self, *args: Any, **options: Any) -> Any:
        """Stdout that is closed or full ends any command in a sentence, also one that prints its help."""
        try:
            return _flushed(lambda: super(Commands, self).main(*args, **options))
        except BrokenPipeError:
            _forget_stdout()
            raise SystemExit(PIPE_CLOSED) from None
        except OutputLost as error:
            _forget_stdout()
            complain(f"What was to be printed is lost: stdout cannot be written ({error.strerror}).")
            raise SystemExit(OUTPUT_LOST) from None


def _flushed(do: Callable[[], Any]) -> Any:
    try:
        return do()
    finally:  # a command may end by typer.Exit
        sys.stdout.flush()


def _fault_of(error: Exception) -> str:
    """Of a refusal, and of words that cannot be parsed; "" for any other end of a command."""
    if isinstance(error, Refused):
        return error.message
    said = getattr(error, "format_message", None)  # of click, which typer has within it or beside it
    return str(said()) if said else ""


def _forget_stdout() -> None:
    """For what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


cli = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Roofscope: CUDA, Triton, eager and compiled kernels, verified, timed, on a measured roofline. "
    "Without a command the window opens.",
    epilog="Exit codes: 0 done; 1 something failed, is missing or was found; 2 a mistake, and nothing was "
    "tried; 3 inconclusive; 74 stdout could not be written; 75 the device is busy, and the same may work "
    "later; 141 the reader of a pipe had enough.",
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        say(f"roofscope {__version__}")
        raise typer.Exit


@cli.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Open the window; with no screen, measure a quick plan here and now."""
    if context.invoked_subcommand is not None:
        return
    from roofscope.app.cli.open import open_window
    from roofscope.profiling.devices.host import screen

    if screen(sys.platform, os.environ):
        raise typer.Exit(open_window([]))
    from roofscope.app.cli.run import RunOptions, run
    from roofscope.profiling.planning.plan import TOUR

    say("There is no screen, so Roofscope measures a quick plan here on the terminal.")
    say("(`roofscope --help` lists the commands; sessions open in the window on any machine.)")
    raise typer.Exit(run(RunOptions(kernels=TOUR)))
