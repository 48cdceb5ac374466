"""``open``: shows a session or a profiler trace in the window. The one command that needs Qt."""

import os
import sys
from pathlib import Path

import typer

from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import SessionFile
from roofscope.profiling.devices.host import package_version, screen
from roofscope.profiling.doctor import CheckState, check_window
from roofscope.profiling.results.session_reader import SessionError, load


def command(file: SessionFile) -> None:
    """Open a session in the window, or a profiler trace: .json, .json.gz or .zip."""
    from roofscope.app.presentation.timeline.source import is_trace_file  # numpy, which help does not need

    if not is_trace_file(file):
        _check(file)
    elif not file.is_file():
        refuse(f"There is no file {file}.")
    if not screen(sys.platform, os.environ):
        refuse("There is no screen to open a window on; try `roofscope show FILE`, or `export FILE --svg`.")
    raise typer.Exit(open_window([file]))


def _check(session: Path) -> None:
    """Here, where the sentence is seen."""
    try:
        load(session)
    except SessionError as error:
        refuse(str(error))


def open_window(files: list[Path]) -> int:
    pyside = package_version("pyside6-essentials")
    found = check_window(pyside, sys.version_info[:2])
    if pyside and found.state is CheckState.MISSING:  # before Qt is loaded, which would abort
        refuse(f"{found.finding.rstrip('.')}: {found.fix}")
    try:
        from roofscope.app.window.ahead_of_qt import import_ahead_of_qt

        import_ahead_of_qt()
        from roofscope.app.window.application import run_window
    except ImportError as error:
        refuse(f"The window cannot start ({error}); run `roofscope doctor`, or install roofscope[window].")
    return run_window(files)
