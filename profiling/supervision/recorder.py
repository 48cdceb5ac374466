"""Writes what a run reports into the session file; used alike by window and command line."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.devices.host import environment, package_version
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.spec import Implementation, KernelSpec
from roofscope.profiling.results.generated import CodeInfo
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.results.session import Origin, Point, Setup, TraceInfo, timestamp
from roofscope.profiling.results.session_storable import NotStorable, unstorable
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.roofline.nameplate import nameplate
from roofscope.profiling.roofline.roofline import Ceiling
from roofscope.profiling.supervision.run_events import (
    CeilingArrived,
    CeilingsComplete,
    CodeArrived,
    EnvironmentKnown,
    OutcomeArrived,
    ProofArrived,
    RunEvent,
    TraceArrived,
)
from roofscope.profiling.supervision.safe_store import SafeStore

Gain = Point | Ceiling | Proof | TraceInfo | CodeInfo
Result = TypeVar("Result")


class Recorder:
    """Turns reports from one device into committed rows of a session. Several devices share a store."""

    def __init__(
        self,
        safe: SafeStore,
        catalog: Catalog,
        device: Device,
        cache: CeilingCache,
        *,
        knows_environment: bool = False,
    ) -> None:
        self.safe = safe
        self._origin: int | None = None  # where this device's results come from
        self._knows_environment = knows_environment  # what is added to a session leaves its own as it is
        self._catalog = catalog
        self._device = device
        self._cache = cache
        self._probed: list[Ceiling] = []
        self._specs: dict[str, KernelSpec] = {}  # those kept, by kernel
        self._known: set[str] = set()  # hashes of the sources kept; two kernels may share a file

    def catalog_changed(self, catalog: Catalog) -> None:
        """Files of the kernels were edited: what comes from now on has these sources."""
        self._catalog = catalog

    def known_ceilings(self) -> tuple[Ceiling, ...]:
        """Commit and return what is known unmeasured: the nameplate, and ceilings kept from before.

        Nothing measured among them means that the device is to be probed. Their environment is this machine,
        as far as it is known before a worker greets.
        """
        if self._origin is None:
            self.add_environment(environment([self._device], []))
        kept: list[Ceiling] = []
        for ceiling in (*nameplate(self._device, timestamp()), *self._cache.load(self._key())):
            with suppress(NotStorable):  # of a damaged cache: as if it were not known
                self._keep(lambda store, ceiling=ceiling: store.add_ceiling(ceiling))
                kept.append(ceiling)
        return tuple(kept)

    def handle(self, report: RunEvent) -> Gain | None:
        """Commit a report; returns what the session gained, if anything. Raises SessionError."""
        self.safe.look()
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
            case CodeArrived():
                return self.add_code(report)
            case _:
                pass
        return None

    def _keep(self, add: Callable[[SessionStore], Result]) -> Result:
        """Add as a result of this device: another one's recorder may have added to the store meanwhile."""

        def add_as_ours(store: SessionStore) -> Result:
            if self._origin is not None:
                store.continue_in(self._origin)
            return add(store)

        return self.safe.keep(add_as_ours)

    # Each of them commits, or raises SessionError.

    def add_environment(self, environment: Environment) -> Origin:
        origin = self._keep(lambda store: store.add_environment(environment, self._device.id))
        self._origin = origin.number
        return origin

    @property
    def origin(self) -> int | None:
        """The number of the environment of what is added next; None for not known yet."""
        return self._origin

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

    def add_code(self, report: CodeArrived) -> CodeInfo:
        self._remember(report.implementation)
        return self._keep(lambda store: store.add_code(report.job, report.implementation, report.codes))

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
        if kernel.implementation(implementation.stem) == implementation.declared:
            # Else it was planned from files that this catalog does not have: better none than others.
            self._keep(lambda store: store.add_sources(implementation, kernel.sources(implementation)))
        self._known.add(implementation.source_hash)  # last: what could not be written is tried again
