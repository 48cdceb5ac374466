"""What saved files mean for the run under way: the same for the window and the command line."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.edited_jobs import edited_jobs
from roofscope.profiling.planning.edits import EditedKernels
from roofscope.profiling.planning.file_watch import Saved
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.supervision.protocol import Run


class NextRuns(Struct, frozen=True):
    """What a save asks for. ``said`` are sentences for the user."""

    runs: tuple[Run, ...] = ()
    supersedes: bool = False  # what is under way: files of it were saved again
    unplanned: tuple[Implementation, ...] = ()  # of kernels that nothing was measured of
    said: tuple[str, ...] = ()


class LiveEdits:
    """Knows the kernels as they were at the last save, and what of the last saves has no outcome yet."""

    def __init__(self, catalog: Catalog) -> None:
        self._kernels = EditedKernels(catalog)
        self._open: dict[tuple[str, str], Job] = {}  # by the ids of jobs and the names of implementations

    @property
    def is_open(self) -> bool:
        """Whether an implementation that was saved has no outcome yet."""
        return bool(self._open)

    def saved(
        self,
        catalog: Catalog,
        saved: Saved,
        before: Sequence[Job],
        device: str,
        first_id: int,
        wants: Callable[[Implementation], bool] = lambda _: True,
    ) -> NextRuns:
        """What to measure on the device now that these files were saved; ``before``: what was measured.

        Of edited implementations those that are wanted.
        """
        edits = self._kernels.take(catalog, saved)
        again = {found.key: found for found in edits.implementations if wants(found)}
        supersedes = any(key in again for _, key in self._open)
        before = [*before, *self._open.values()]
        if supersedes:  # what is left of it is wanted still, with the files as they are now
            again = {one.key: one for one in self._left(catalog)} | again
            self._open.clear()
        found = edited_jobs(again.values(), before, catalog, device, first_id)
        # Of what is being measured there may be no time yet, and it may be measured as it was saved.
        names = () if self._open else edits.unchanged
        same = [f"{name} was saved as it was; its times stay." for name in names]
        runs = tuple(map(Run, found.jobs))
        self.begin(runs)
        return NextRuns(runs, supersedes, found.unplanned, (*edits.said, *found.said, *same))

    def given_up(
        self,
        catalog: Catalog,
        before: Sequence[Job],
        device: str,
        first_id: int,
        wants: Callable[[Implementation], bool] = lambda _: True,
    ) -> NextRuns:
        """All that was under way again, as it was planned, and with it what else was edited.

        It was dropped, because files were edited before the worker read them.
        """
        edits = self._kernels.take(catalog, Saved())
        jobs = self._left_jobs()
        left = {one.key: one for one in self._left(catalog)}
        more = [one for one in edits.implementations if wants(one) and one.key not in left]
        self._open.clear()
        again = edited_jobs(left.values(), jobs, catalog, device, first_id, as_planned=True)
        others = edited_jobs(more, [*before, *jobs], catalog, device, first_id + len(again.jobs))
        runs = tuple(map(Run, (*again.jobs, *others.jobs)))
        self.begin(runs)
        return NextRuns(runs, False, others.unplanned, (*edits.said, *again.said, *others.said))

    def begin(self, runs: Iterable[Run]) -> None:
        """These are under way."""
        self._open |= {(run.job.id, one.key): run.job for run in runs for one in run.job.implementations}

    def note(self, job: Job, implementation: Implementation) -> None:
        """It has an outcome."""
        self._open.pop((job.id, implementation.key), None)

    def forget(self) -> None:
        """The run is over."""
        self._open.clear()

    def _left_jobs(self) -> list[Job]:
        """Each with what of it has no outcome."""
        keys: dict[str, set[str]] = {}
        for number, key in self._open:
            keys.setdefault(number, set()).add(key)
        jobs = {job.id: job for job in self._open.values()}
        return [
            replace(job, implementations=tuple(one for one in job.implementations if one.key in keys[number]))
            for number, job in jobs.items()
        ]

    def _left(self, catalog: Catalog) -> Iterable[Implementation]:
        for _, key in self._open:
            name, _, stem = key.partition("/")
            kernel = catalog.kernel(name)
            if kernel and (found := kernel.implementation(stem)):
                yield found
