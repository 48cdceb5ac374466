"""Measures for an assistant, one file at a time, into the session that is the assistant's memory."""

import shutil
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from roofscope.app.agents.answering import beside_answers, is_own, point_answers
from roofscope.app.agents.answers import MeasureAnswer
from roofscope.app.agents.control import Control
from roofscope.app.agents.own_file import open_file, write_own
from roofscope.app.agents.requests import AgentFault, CompareRequest, MeasureRequest, in_arguments
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.host import package_version
from roofscope.profiling.paths import LIBRARY, SUFFIX, is_file
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.planning.catalog import Catalog, Kernel, scan
from roofscope.profiling.planning.kernel_files import FileFault, printable, read_file
from roofscope.profiling.planning.one_file.form import FormFault, read_form
from roofscope.profiling.planning.one_file.parts import PRESET, called, files_of_form, kernel_name
from roofscope.profiling.planning.plan import PlanError, Quality, SizeChoice, next_job_number, plan_jobs
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recording import Ceilings, record

_END_S = 60.0  # for a measurement that was stopped, before the server ends without it


class Measured(Struct, frozen=True):
    """What a run added: its points in order, those of the file first."""

    session: Session
    points: tuple[Point, ...]


class Workbench:
    """One device and one session file, which is made by the first measurement."""

    def __init__(self, path: Path, device: Device) -> None:
        self.path = path
        self.device = device
        self._at_work = threading.Lock()
        self._control: Control | None = None
        self._catalog: Catalog | None = None  # what was read last

    @property
    def folder(self) -> Path:
        """Where texts that are measured lie, and each measured version."""
        return self.path.with_suffix(".files")

    def session(self) -> Session:
        """As it is now. Raises AgentFault where nothing was measured yet, and where it cannot be read."""
        if not is_file(self.path):
            raise AgentFault(f"{printable(self.path)} holds no point yet; call measure_file first.")
        try:
            return load(self.path)
        except SessionError as error:
            raise AgentFault(one_line(str(error))) from error

    def known_session(self) -> Session | None:
        return self.session() if is_file(self.path) else None

    @contextmanager
    def working(self, control: Control) -> Generator[None]:
        """Raises AgentFault where something is measured already: times would disturb each other."""
        if not self._at_work.acquire(blocking=False):
            raise AgentFault(
                "Another measurement is under way, and two at once would spoil each other's times; "
                "wait for its answer, or cancel it."
            )
        self._control = control
        try:
            yield
        finally:
            self._control = None
            self._at_work.release()

    def close(self) -> None:
        """End what is under way, with its worker."""
        if control := self._control:
            control.stop()
        if self._at_work.acquire(timeout=_END_S):
            self._at_work.release()

    def measure(self, request: MeasureRequest, control: Control) -> MeasureAnswer:
        """Verify and time a file. Raises AgentFault where there is not even a failure to keep."""
        with self.working(control), control.ended_after(request.deadline_s):
            opened = open_file(request, self.folder)
            if opened.guessed:
                control.notice(opened.guessed)
            catalog, kernel = self.kernel(opened.form, control)
            own = own_stems(kernel, request.function)
            stems = () if request.beside else own
            found = self.run(catalog, kernel, stems, control, request, has_ceilings=request.ceilings)
            mine = [point for point in found.points if point.implementation.stem in own]
            others = [point for point in found.points if not is_own(point)]
            problem = control.why_stopped
            if not mine:
                raise AgentFault(problem or " ".join(control.notices) or "The worker gave no result.")
            for point in mine:
                self._keep_version(point, opened.form)
            return MeasureAnswer(
                session=str(found.session.path),
                form=str(opened.form),
                measured=point_answers(found.session, mine),
                beside=beside_answers(mine[0], others),
                notices=tuple(control.notices),
                problem=problem,
            )

    def run(
        self,
        catalog: Catalog,
        kernel: Kernel,
        stems: Sequence[str],
        control: Control,
        request: MeasureRequest | CompareRequest,
        *,
        has_ceilings: bool,
    ) -> Measured:
        """Carry out one job of a kernel and add what it yields to the session. Raises AgentFault."""
        known, cache = self.known_session(), CeilingCache(control.notice)
        has_ceilings = has_ceilings or bool(cache.load(CacheKey.of(self.device, package_version("torch"))))
        if control.is_stopped:
            raise AgentFault(control.why_stopped)
        try:
            jobs = plan_jobs(
                [kernel],
                device=self.device.id,
                dtypes=(),
                size_choices=[SizeChoice(PRESET, or_any=True)],
                stems=stems,
                quality=Quality.EXACT if request.exact else Quality.QUICK,
                first_id=next_job_number(known.jobs) if known else 1,
            )
            self.path.parent.mkdir(parents=True, exist_ok=True)
            ending = record(
                self.path,
                catalog,
                self.device,
                [Run(job) for job in jobs],
                control.watch,
                cache,
                kernel_roots=[kernel.form or kernel.folder],
                ceilings=Ceilings.KEEP if has_ceilings else Ceilings.LEAVE,
                append=known is not None,
                may_share=request.shared_gpu,
                on_start=control.started,
            )
            if ending.busy or ending.unusable:
                raise AgentFault(in_arguments(one_line(ending.busy or ending.unusable)))
            session = load(ending.path) if ending.path else None
        except (PlanError, SessionError, OSError) as error:
            raise AgentFault(one_line(str(error))) from error
        if session is None:
            raise AgentFault(" ".join(control.notices) or "The worker gave no result.")
        self.path = session.path
        numbers = [gain.number for gain in ending.gains if isinstance(gain, Point)]
        by_number = {point.number: point for point in session.points}
        return Measured(session, tuple(by_number[number] for number in numbers if number in by_number))

    def kernel(self, form: Path, control: Control) -> tuple[Catalog, Kernel]:
        """The kernel that a form makes, in a catalog as the worker reads it. Raises AgentFault."""
        catalog = self._catalog = scan([LIBRARY, form], self._catalog)
        for problem in catalog.problems:
            control.notice(problem.message)
        kernel = catalog.kernel(kernel_name(form))
        if kernel is None:
            raise AgentFault(" ".join(control.notices) or f"{printable(form.name)} makes no kernel.")
        return catalog, kernel

    def version(self, number: int) -> Path:
        """Where the files of a point lie as they were when it was measured; may not be there."""
        return self.folder / "versions" / str(number)

    def _keep_version(self, point: Point, form: Path) -> None:
        """For a comparison in turn after the file was edited; without it only that is refused."""
        with suppress(FormFault, FileFault, OSError):
            said = read_form(form)
            for path in (form, *files_of_form(form, said)):
                write_own(self.version(point.number) / path.name, read_file(path))

    def rename(self, name: str) -> None:
        """Raises AgentFault."""
        if Path(name).name != name or name.startswith(".") or not name.isprintable():
            raise AgentFault(f"{printable(name[:100])!r} is no name for a session; give one without folders.")
        path = self.path.with_name(f"{name}{SUFFIX}")
        if path == self.path:
            return
        with self.working(Control()):
            before = self.folder
            try:
                if path.exists():
                    raise AgentFault(f"{printable(path)} exists already; choose another name.")
                self.path.rename(path)
                self.path = path
                if before.exists():
                    shutil.move(before, self.folder)
            except OSError as error:
                raise AgentFault(f"{printable(self.path)} cannot be renamed: {error.strerror}.") from error


def own_stems(kernel: Kernel, function: str = "") -> tuple[str, ...]:
    """The versions that the file has, and not those of its reference."""
    own = [
        found.stem
        for found in kernel.implementations
        if found.provider is not Provider.COMPILE and found.stem != Provider.EAGER
    ]
    named = [stem for stem in own if called(kernel.entries[stem].call) == function]
    return tuple(named or own)
