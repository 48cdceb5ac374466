"""Writes what a run reports into the session file; used alike by window and command line.

Where the file is lost or full, the run goes on in another one that gets every result, and the user reads so
at once.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.devices.host import environment, package_version
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.spec import Implementation, KernelSpec
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.results.session import Origin, Point, Setup, TraceInfo, timestamp
from roofscope.profiling.results.session_connection import SessionError
from roofscope.profiling.results.session_storable import NotStorable, unstorable
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.roofline.nameplate import nameplate
from roofscope.profiling.roofline.roofline import Ceiling
from roofscope.profiling.supervision.run_events import (
    CeilingArrived,
    CeilingsComplete,
    EnvironmentKnown,
    OutcomeArrived,
    ProofArrived,
    RunEvent,
    TraceArrived,
)

Gain = Point | Ceiling | Proof | TraceInfo
Result = TypeVar("Result")


class Recorder:
    """Turns reports into committed rows of one session, which belongs to one device."""

    def __init__(
        self,
        store: SessionStore,
        catalog: Catalog,
        device: Device,
        cache: CeilingCache,
        *,
        knows_environment: bool = False,
        say: Callable[[str], None] = lambda _: None,
        rescue_folders: Sequence[Path] = (),
    ) -> None:
        """``say`` is given a sentence once ``store`` is that of another file, because the first one was lost.

        That is made beside the first one, else in the first of ``rescue_folders`` that takes it.
        """
        self.store = store
        self._say = say
        self._rescue_folders = rescue_folders
        self._knows_environment = knows_environment  # what is added to a session leaves its own as it is
        self._catalog = catalog
        self._device = device
        self._cache = cache
        self._probed: list[Ceiling] = []
        self._specs: dict[str, KernelSpec] = {}  # those kept, by kernel
        self._known: set[str] = set()  # hashes of the sources kept; two kernels may share a file

    def known_ceilings(self) -> tuple[Ceiling, ...]:
        """Commit and return what is known unmeasured: the nameplate, and ceilings kept from before.

        Nothing measured among them means that the device is to be probed. Their environment is this machine,
        as far as it is known before a worker greets.
        """
        if self.store.origin is None:
            self.add_environment(environment([self._device], []))
        ceilings = (*nameplate(self._device, timestamp()), *self._cache.load(self._key()))
        for ceiling in ceilings:
            self._keep(lambda store, ceiling=ceiling: store.add_ceiling(ceiling))
        return ceilings

    def handle(self, report: RunEvent) -> Gain | None:
        """Commit a report; returns what the session gained, if anything. Raises SessionError."""
        self.look()
        match report:
            case EnvironmentKnown() if self._knows_environment:
                pass
            case EnvironmentKnown(environment=known):
                self.add_environment(known)
            case OutcomeArrived():
                return self.add_outcome(report)
            case CeilingArrived(ceiling=ceiling):
                self.add_ceiling(ceiling)
                return ceiling
            case CeilingsComplete():
                self.complete_ceilings()
            case ProofArrived(proof=proof):
                self.add_proof(proof)
                return proof
            case TraceArrived():
                return self.add_trace(report)
            case _:
                pass
        return None

    def look(self) -> None:
        """Whether all is still in the file; where it is not, go on in another one."""
        if why := self.store.loss():
            self._move(f"{self.store.path} {why}.")

    def close(self) -> None:
        """Close the file, with every result in it. What was in memory only is tried once more."""
        if why := self.store.loss(at_the_end=True):
            self._move(f"{self.store.path} {why}.")
        if self.store.is_in_memory:
            self.store = self.store.rescued(self._folders)
            count = self.store.result_count
            if self.store.is_in_memory:
                self._say(f"No folder took a file: {count} results of this run are lost.")
            else:
                self._say(f"All {count} results of this run are now in {self.store.path}.")
        self.store.close()

    @property
    def _folders(self) -> list[Path]:
        """Where the run may go on, the best first."""
        return [self.store.path.parent, *self._rescue_folders]

    def _keep(self, add: Callable[[SessionStore], Result]) -> Result:
        """Add to the file; where it cannot be written, to the next that can, in the end in memory."""
        self.look()
        folders, why = self._folders, ""
        while True:
            try:
                result = add(self.store)
            except NotStorable:
                raise
            except SessionError as error:
                if self.store.is_in_memory:
                    raise
                unfit = self.store.path if why else None  # made a moment ago, and could not grow
                why = why or str(error)
                self.store = self.store.rescued(folders)
                if not self.store.is_in_memory:
                    folders = folders[folders.index(self.store.path.parent) + 1 :]
                if unfit:
                    unfit.unlink(missing_ok=True)
            else:
                if why:
                    self._tell(why)
                return result

    def _move(self, why: str) -> None:
        self.store = self.store.rescued(self._folders)
        self._tell(why)

    def _tell(self, why: str) -> None:
        count = self.store.result_count
        kept = f"the {count} results so far" if count > 1 else "all results so far"
        if self.store.is_in_memory:
            self._say(f"{why} No folder takes another file: {kept} are in memory only; save them elsewhere.")
        else:
            self._say(f"{why} The run goes on in {self.store.path}, which has {kept}.")

    # Each of them commits, or raises SessionError.

    def add_environment(self, environment: Environment) -> Origin:
        return self._keep(lambda store: store.add_environment(environment, self._device.id))

    @property
    def setup(self) -> Setup:
        """What the ceilings depend on, here and now."""
        return Setup.of(self._device, package_version("torch"))

    def add_outcome(self, report: OutcomeArrived) -> Point:
        try:
            self._remember(report.implementation)
        except NotStorable as error:
            outcome = unstorable(report.implementation, error)
        else:
            outcome = report.outcome
        return self._keep(lambda store: store.add_outcome(report.job, report.implementation, outcome))

    def add_ceiling(self, ceiling: Ceiling) -> None:
        self._probed.append(ceiling)
        self._keep(lambda store: store.add_ceiling(ceiling))

    def complete_ceilings(self) -> None:
        """Keep those of a probe that went through to its end for other sessions.

        The newest of each, because an earlier probe may have been stopped or refused.
        """
        newest = {(ceiling.bound, ceiling.source, ceiling.mix): ceiling for ceiling in self._probed}
        self._cache.save(self._key(), newest.values())
        self._probed.clear()  # the window's recorder outlives a probe

    def add_proof(self, proof: Proof) -> None:
        self._keep(lambda store: store.add_proof(proof))

    def add_trace(self, report: TraceArrived) -> TraceInfo:
        self._remember(report.implementation)
        trace = report.chrome_json_gz
        return self._keep(lambda store: store.add_trace(report.job, report.implementation, trace))

    def _key(self) -> CacheKey:
        return CacheKey.of(self._device, package_version("torch"))

    def _remember(self, implementation: Implementation) -> None:
        """Keep the spec and the sources behind an outcome, once."""
        kernel = self._catalog.kernel(implementation.kernel)
        if kernel is None:
            return
        if self._specs.get(kernel.spec.name) != kernel.spec:
            self._keep(lambda store: store.add_kernel(kernel.spec))
            self._specs[kernel.spec.name] = kernel.spec
        if implementation.source_hash in self._known:
            return
        if kernel.implementation(implementation.stem) == implementation:
            # Else it was planned from files that this catalog does not have: better none than others.
            self._keep(lambda store: store.add_sources(implementation, kernel.sources(implementation)))
        self._known.add(implementation.source_hash)  # last: what could not be written is tried again
