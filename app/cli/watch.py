"""``run --watch``: measures again what was saved, a line a save, until Ctrl+C."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from roofscope.app.cli.choice import (
    choose_folders,
    choose_labels,
    choose_session,
    scan_kernels,
)
from roofscope.app.cli.errors import BUSY, DONE, SOME_FAILED, complain, refuse, refuse_unusable
from roofscope.app.cli.own_file import choose_files
from roofscope.app.cli.progress import make_console, progress_shown
from roofscope.app.cli.run_options import RunOptions, choose_plan, choose_run_devices, know_origins
from roofscope.app.presentation.live_line import live_line
from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.analysis.verdict import flags_of
from roofscope.profiling.paths import LIBRARY, UserPaths
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.file_watch import stamps_of
from roofscope.profiling.planning.kernel_files import FileFault, printable
from roofscope.profiling.planning.one_file.form import FormFault, is_form
from roofscope.profiling.planning.one_file.parts import survey_form
from roofscope.profiling.planning.survey import survey
from roofscope.profiling.planning.trust import Trust, whose
from roofscope.profiling.results.outcome import Cancelled
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import SessionError
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.live import record_live
from roofscope.profiling.supervision.recorder import Gain


def watch(options: RunOptions) -> int:
    """Plan, measure, and measure again with each save; returns the exit code."""
    path, labels = choose_session(options.out), choose_labels(options.labels)
    _refuse_what_is_not_for_it(options)
    folders = choose_folders(options.folders, is_trusted=options.trust)
    own = choose_files(options.kernels, options.file, is_trusted=options.trust)
    folders += [file.form for file in own]
    stamps = stamps_of([LIBRARY, *folders])  # before they are read, so that no save between is missed
    catalog = scan_kernels(folders)
    device, *others = choose_run_devices(options)
    if others:
        refuse("--watch measures on one device; name it with --device.")
    kernels, stems, jobs = choose_plan(options, catalog, own, device)
    console = make_console()
    lines = LiveLines(Session(path, "", device=device, specs={k.spec.name: k.spec for k in kernels}), catalog)
    named = {kernel.spec.name for kernel in kernels}
    known = catalog

    def look_again() -> Catalog | str:
        nonlocal known
        if why := why_not_trusted(folders):
            return why
        known = lines.catalog = scan([LIBRARY, *folders], known)
        return known

    try:
        with progress_shown(console, lines.of) as watch_run:
            say(
                console,
                f"Watching {', '.join(printable(k.form or k.folder) for k in kernels)}; Ctrl+C ends it.",
            )
            ending = record_live(
                path,
                catalog,
                device,
                jobs,
                watch_run,
                lambda text: say(console, text),
                CeilingCache(lambda text: say(console, text)),
                look_again=look_again,
                folders=[kernel.form or kernel.folder for kernel in kernels],
                stamps=stamps,
                kernel_roots=folders,
                wants=lambda one: one.stem in stems if stems else one.kernel in named,
                labels=labels,
                patience=options.patience,
                may_share=options.shared_gpu,
            )
    except SessionError as error:
        refuse(str(error))
    refuse_unusable(ending)
    if ending.busy:
        complain(ending.busy)
        return BUSY
    if ending.path is None:
        return SOME_FAILED
    say(console, f"Session:  {ending.path}")
    return DONE


def _refuse_what_is_not_for_it(options: RunOptions) -> None:
    """What would be ignored: an option that does nothing looks as if it were heeded."""
    if not options.kernels:
        refuse("--watch needs the name of a kernel, or of a version of it, such as softmax/triton_online.")
    if options.as_json:
        refuse("--watch prints a line a save, no document; leave --json out, and read the session after it.")
    given = {
        "--svg": options.svg,
        "--plot": options.plot is not None,
        "--table": options.table,
        "--strict": options.strict,
        "--retry-paused": options.retry_paused,
        "--fresh-ceilings": options.fresh_ceilings,
    }
    if words := [word for word, is_given in given.items() if is_given]:
        refuse(f"--watch goes on until it is stopped, so that {words[0]} means nothing to it; leave it out.")


class LiveLines:
    """The lines of a run that goes on with each save, and the session that they are judged by."""

    def __init__(self, session: Session, catalog: Catalog) -> None:
        self._session = session
        self.catalog = catalog  # as the files are now

    def of(self, gained: Gain) -> str | None:
        """As rich markup; None for what is no point, and for one that a later save has superseded."""
        if not isinstance(gained, Point):
            return None
        session = self._session
        self._learn(gained)
        session.points = (*session.points, gained)
        if isinstance(gained.outcome, Cancelled):
            return None
        warns = any(flag in WARNING_FLAGS for flag in flags_of(gained, session))
        sign = "[red]✗[/]" if gained.measured is None else "[yellow]![/]" if warns else "[green]✓[/]"
        return f"{sign} {escape(live_line(session, gained))}"

    def _learn(self, point: Point) -> None:
        """What the file knows of this machine, and the text of what was measured."""
        session = self._session
        if session.origin(point.origin) is None:
            with suppress(SessionError):  # the watch hears what befell the file
                know_origins(session)
        kernel = self.catalog.kernel(point.implementation.kernel)
        found = kernel.implementation(point.implementation.stem) if kernel else None
        if kernel and found and found == point.implementation.declared:
            session.specs = {**session.specs, kernel.spec.name: kernel.spec}
            session.sources = {**session.sources, found.source_hash: kernel.sources(found)}


def why_not_trusted(folders: Sequence[Path]) -> str:
    """Why what was saved is not run, as a sentence; "" where each folder is the user's own or trusted."""
    trust = Trust(UserPaths.of_user().trusted)
    for folder in folders:
        try:
            found = survey_form(folder) if is_form(folder) else survey(folder)
        except (FileFault, FormFault) as error:
            return f"{printable(folder)} cannot be read: {error}; its points stay."
        if not (found.is_own or trust.covers(found)):
            return f"Nothing of {printable(folder)} is run any more, because {whose(found)}; its points stay."
    return ""


def say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
