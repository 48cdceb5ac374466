"""``selftest --adversaries``: a corpus of cheats through the engine of every run, and what it answered."""

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from roofscope.app.cli.documents import AdversariesDocument, AnsweredAdversary, print_document
from roofscope.app.cli.errors import BUSY, DONE, SOME_FAILED, complain, refuse, refuse_unusable, unknown
from roofscope.app.cli.progress import make_console, progress_shown
from roofscope.profiling.analysis.adversaries import (
    CORPUS,
    Adversary,
    Answer,
    CorpusError,
    Need,
    judge,
    read_corpus,
    unanswered,
    write_kernel,
)
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import Job, SizeChoice, plan_jobs
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.readiness import refusal
from roofscope.profiling.supervision.recording import Ending, carry_out
from roofscope.profiling.supervision.run_events import OutcomeArrived, RunEvent

_NO_OUTCOME = "the run ended without an outcome for it"
# Some cheats write into caches: what they leave there must not outlive the run.
_CACHES = ("XDG_CACHE_HOME", "XDG_DATA_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TMPDIR")


def run_adversaries(
    device: Device, names: Sequence[str] = (), *, as_json: bool = False, may_share: bool = False
) -> int:
    """Try what this device can run of the corpus, or those named; returns the exit code."""
    adversaries = _chosen(device, names)
    console = make_console(stderr=as_json)
    answers: list[Answer] = []
    busy = ""
    if reason := refusal([device], lambda text: console.print(text, markup=False), may_share=may_share):
        refuse_unusable(Ending.refused(reason))
        adversaries, busy = [], reason.text
    with tempfile.TemporaryDirectory(prefix="roofscope-adversaries-") as folder, _caches_in(Path(folder)):
        for is_deadly, group in groupby(adversaries, key=lambda one: one.is_deadly):
            ending, found = _try(list(group), Path(folder, f"kernels-{is_deadly}"), device, console)
            answers += found
            if found and not as_json:
                console.print(_table(found), highlight=False)
            if ending.busy or ending.was_stopped:
                busy = ending.busy
                break
    if busy:
        complain(busy)
    passed = not busy and len(answers) == len(adversaries) and not any(answer.is_fooled for answer in answers)
    if as_json:
        rows = tuple(map(_row, answers))
        print_document(AdversariesDocument(device=device, passed=passed, adversaries=rows, problem=busy))
    elif answers:
        console.print(_conclusion(device, adversaries, answers), markup=False, highlight=False)
    return BUSY if busy else DONE if passed else SOME_FAILED


def _chosen(device: Device, names: Sequence[str]) -> list[Adversary]:
    if not CORPUS.is_dir():
        refuse(
            "The corpus of cheats lies in tests/adversaries of a checkout; this installation has no tests."
        )
    try:
        corpus = read_corpus()
    except CorpusError as error:
        refuse(str(error))
    known = [adversary.name for adversary in corpus]
    for name in names:
        if name not in known:
            unknown("adversary", name, known)
    runnable = [one for one in corpus if device.kind is DeviceKind.CUDA or one.needs is Need.CPU]
    chosen = [one for one in runnable if not names or one.name in names]
    if not chosen:
        refuse(f"None of the adversaries named runs on {device.name}; they need a GPU.")
    return chosen


def _try(
    adversaries: Sequence[Adversary], root: Path, device: Device, console: Console
) -> tuple[Ending, list[Answer]]:
    """One run of all of them, because what one leaves behind must not change the next one's answer."""
    for adversary in adversaries:
        write_kernel(root, adversary)
    catalog = scan([LIBRARY, root])
    by_name = {adversary.name: adversary for adversary in adversaries}
    answers: dict[str, Answer] = {}
    with progress_shown(console) as watch:

        def on_report(report: RunEvent) -> None:
            if isinstance(report, OutcomeArrived):
                adversary = by_name[report.job.workload.kernel]
                answer = judge(adversary, report.job, report.implementation, report.outcome)
                if adversary.name not in answers or answer.is_fooled:  # one may be forged, and not the last
                    answers[adversary.name] = answer
                    console.print(_line(answer), highlight=False)
            watch(report, None)

        tasks = [Run(job) for job in _jobs(adversaries, catalog, device)]
        ending = carry_out(tasks, catalog, [root], on_report)
    if not (ending.busy or ending.was_stopped):
        for adversary in adversaries:
            answers.setdefault(adversary.name, unanswered(adversary, _NO_OUTCOME))
    return ending, list(answers.values())


def _jobs(adversaries: Sequence[Adversary], catalog: Catalog, device: Device) -> list[Job]:
    jobs: list[Job] = []
    for adversary in adversaries:
        kernel = catalog.kernel(adversary.name)
        assert kernel is not None
        choices = [SizeChoice(str(device.kind))]
        planned = plan_jobs(
            [kernel],
            device=device.id,
            dtypes=(),
            size_choices=choices,
            stems=[adversary.stem],
            first_id=len(jobs) + 1,
        )
        jobs.extend(planned)
    return jobs


@contextmanager
def _caches_in(folder: Path) -> Generator[None]:
    """Give the workers that start meanwhile caches of their own."""
    before = {name: os.environ.get(name) for name in _CACHES}
    for name in _CACHES:
        (folder / name.lower()).mkdir()
        os.environ[name] = str(folder / name.lower())
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _line(answer: Answer) -> str:
    return f"{_sign(answer)} [bold]{answer.adversary.name}[/]: {escape(answer.answered)}"


def _sign(answer: Answer) -> str:
    if answer.is_right is None:
        return "[dim]–[/]"
    return "[green]✓[/]" if answer.is_right else "[red]✗[/]" if answer.is_fooled else "[yellow]![/]"


def _table(answers: Sequence[Answer]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in ("adversary", "class", "expected", "answered"):
        table.add_column(name, no_wrap=True)
    table.add_column("cause")
    for answer in answers:
        row = _row(answer)
        cells = (row.name, row.group, " or ".join(row.expected), row.answered, row.cause)
        table.add_row(_sign(answer), *map(escape, cells))
    return table


def _conclusion(device: Device, adversaries: Sequence[Adversary], answers: Sequence[Answer]) -> str:
    cheats = [answer for answer in answers if not answer.adversary.is_honest]
    honest = [answer for answer in answers if answer.adversary.is_honest]
    counts = (
        f"{sum(answer.is_fooled for answer in cheats)} of {len(cheats)} cheats measured without a flag",
        f"{sum(not answer.is_fooled for answer in honest)} of {len(honest)} honest controls passed",
        f"{sum(answer.is_right is None for answer in answers)} not tried",
        f"{len(adversaries) - len(answers)} not reached",
    )
    shown = ", ".join(text for text in counts if not text.startswith("0 not "))
    return f"\n{device.name} ({device.id}): {shown}."


def _row(answer: Answer) -> AnsweredAdversary:
    adversary = answer.adversary
    return AnsweredAdversary(
        name=adversary.name,
        title=adversary.title,
        group=adversary.group,
        source=adversary.source,
        expected=adversary.right,
        answered=answer.answered,
        cause=answer.cause,
        is_right=answer.is_right,
        is_fooled=answer.is_fooled,
    )
