"""``lesson``: a kernel's story with the figures of a session; its exercise begun and checked; all pages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from roofscope.app.cli.choice import choose_folders, scan_kernels
from roofscope.app.cli.errors import DONE, SOME_FAILED, complain, refuse, unknown
from roofscope.app.cli.fitted_table import Column, Group, fitted, left_out_text, wrapped
from roofscope.app.cli.options import KernelFolders, TrustFolders, shipped_too
from roofscope.app.cli.output import say
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.presentation.files import write_file
from roofscope.app.presentation.formatting import size_and_fill_text
from roofscope.app.presentation.lesson.begin import begin
from roofscope.app.presentation.lesson.check import check, goal_text
from roofscope.app.presentation.lesson.commands import commands
from roofscope.app.presentation.lesson.figures import StepView, StoryView, heading, story_view
from roofscope.app.presentation.lesson.page import outdented, pages
from roofscope.app.presentation.lesson.shelf import Shelf, Shelved, best_view, shelf_of
from roofscope.app.presentation.recorded import example_sessions
from roofscope.profiling.paths import UserPaths
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.session import Session


def command(
    kernel: Annotated[
        str | None, typer.Argument(metavar="[KERNEL]", help="Whose lesson; a list of all lessons if none.")
    ] = None,
    session: Annotated[
        Path | None,
        typer.Option(
            metavar="SESSION",
            help="Whose figures; if none, those of the shipped session that has the most.",
            callback=shipped_too,
        ),
    ] = None,
    check_: Annotated[
        Path | None,
        typer.Option(
            "--check",
            metavar="SESSION",
            help="Say whether a version of yours there does the exercise.",
            callback=shipped_too,
        ),
    ] = None,
    begin_: Annotated[
        Path | None,
        typer.Option("--begin", metavar="DIR", help="Make a folder to do the exercise in."),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="DIR", help="Write all lessons as pages of Markdown."),
    ] = None,
    kernels: KernelFolders = None,
    trust: TrustFolders = False,
) -> None:
    """Show a kernel from textbook to best, step by step, with figures, lines and an exercise.

    Exit codes of --check: 0 the exercise is done, 1 it is not yet.
    """
    catalog = scan_kernels(choose_folders(kernels or [], is_trusted=trust))
    shelf = shelf_of(catalog.kernels)
    for problem in shelf.problems:
        complain(problem)
    if write is not None:
        _write(shelf, write)
    elif kernel is None:
        if session or check_ or begin_:
            refuse("Name the lesson: roofscope lesson vector_add.")
        _list(make_console(), shelf)
    else:
        one = shelf.of(kernel) or unknown("lesson", kernel, [each.story.kernel for each in shelf.stories])
        if begin_ is not None:
            _begin(one, begin_)
        elif check_ is not None:
            raise typer.Exit(_check(one, check_))
        else:
            _tell(make_console(), shelf, one, load_or_refuse(session) if session else None)


def shipped_sessions() -> tuple[Session, ...]:
    return example_sessions(UserPaths.of_user().example.parent)


def _write(shelf: Shelf, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages(shelf, shipped_sessions()).items():
            write_file(folder / name, text.encode())
    except OSError as error:
        refuse(f"{folder} cannot be written: {error.strerror or error}.")
    say(f"{len(shelf.stories)} lessons: {folder}")


def _list(console: Console, shelf: Shelf) -> None:
    for number, one in enumerate(shelf.stories, 1):
        story = one.story
        console.print(
            Text(f"{number:>3}  {story.kernel:<18} ").append(story.title, "bold"),
            highlight=False,
            soft_wrap=True,
        )
        console.print(Text(f"{'':5}{story.promise}", "dim"), highlight=False, soft_wrap=True)
    console.print("\nroofscope lesson NAME shows one.", highlight=False)


def _begin(one: Shelved, folder: Path) -> None:
    try:
        files = begin(one.story, one.kernel, folder)
    except FileExistsError:
        refuse(f"{folder / one.story.kernel} is there already, and is left as it is: choose another folder.")
    except OSError as error:
        refuse(f"{folder} cannot be written: {error.strerror or error}.")
    story = one.story
    say(f"{one_line(story.exercise.task)}\n{goal_text(story)}\n")
    for file in files:
        say(f"Edit:  {file}")
    _, run, checking = commands(story).exercise
    say(f"Then:  {_in_folder(run, folder)}\n       {checking}")
    run, checking = commands(story).without_gpu
    say(f"Or, without a GPU:\n       {_in_folder(run, folder)}\n       {checking}")


def _in_folder(line: str, folder: Path) -> str:
    return line.replace("--kernels my-kernels", f"--kernels {folder}")


def _check(one: Shelved, file: Path) -> int:
    found = check(one.story, load_or_refuse(file))
    say(f"{str(found.state).capitalize()}: {found.sentence}")
    return DONE if found.is_done else SOME_FAILED


def _tell(console: Console, shelf: Shelf, one: Shelved, session: Session | None) -> None:
    story = one.story
    if session:
        view = story_view(story, session, one.kernel)
    else:
        view, session = best_view(one, shipped_sessions())
    _say(console, f"{story.title}", "bold")
    _say(console, f"Lesson {shelf.number(story)} of {len(shelf.stories)}: {story.kernel}. {story.promise}")
    console.print()
    _print_figures(console, view, session)
    for step in view.steps:
        console.print()
        _say(console, f"{step.number}. {step.step.title} ({step.label})", "bold")
        _say(console, step.step.lesson)
        if step.excerpt:
            where = f"{story.kernel}/{step.excerpt.source.name}:{step.excerpt.first}"
            _say(console, where, "dim")
            for line in outdented(step.excerpt.lines):
                console.print(Text(f"    {line}"), highlight=False, soft_wrap=True)
    console.print()
    _say(console, "Exercise", "bold")
    _say(console, f"{story.exercise.task} {goal_text(story)}")
    _say(console, f"Hint: {story.exercise.hint}")
    console.print()
    for line in commands(story).exercise:
        console.print(Text(f"    {line}"), highlight=False, soft_wrap=True)


def _print_figures(console: Console, view: StoryView, session: Session | None) -> None:
    if session is None or view.workload is None:
        missing = f"{session.path.name} has nothing of" if session else "No shipped session has"
        _say(console, f"{one_line(missing)} this kernel. Measure it:")
        console.print(Text(f"    {commands(view.story).steps[0]}"), highlight=False, soft_wrap=True)
        return
    titles = view.columns
    rows = tuple((_row_name(step), *_cells(step, titles)) for step in view.rows)
    where = f"{view.workload.dtype.label} {size_and_fill_text(view.workload)}"
    device = one_line(session.device.name) if session.device else ""
    columns = tuple(Column(heading(title), rank) for rank, title in enumerate(titles))
    table = fitted("step", columns, [Group(f"{view.story.kernel} {where}", device, rows)], console.width)
    for line in table.lines:
        console.print(line, highlight=False, soft_wrap=True)
    if below := left_out_text(table):
        _say(console, below, "dim")


def _row_name(step: StepView) -> str:
    return f"{step.number or ' '} {step.label}"


def _cells(step: StepView, titles: Sequence[str]) -> tuple[str, ...]:
    if not step.figures:
        return (step.note, *("" for _ in titles[1:]))
    return tuple(step.text(title) for title in titles)


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(wrapped(text, console.width), style), highlight=False, soft_wrap=True)
