"""Writes what a run reports into the session file; used alike by window and command line."""

from profiling.catalog import Catalog
from profiling.ceiling_cache import CeilingCache
from profiling.devices import Device
from profiling.reports import (
    CeilingRecorded,
    CeilingsComplete,
    EnvironmentKnown,
    OutcomeRecorded,
    Report,
    TraceRecorded,
)
from profiling.roofline import Ceiling
from profiling.session import Point, TraceInfo
from profiling.spec import Implementation
from profiling.store import SessionStore


class Recorder:
    """Turns reports into committed rows of one session."""

    def __init__(self, store: SessionStore, catalog: Catalog, device_id: str, cache: CeilingCache) -> None:
        self.store = store
        self._catalog = catalog
        self._device_id = device_id
        self._cache = cache
        self._device: Device | None = None
        self._measured: list[Ceiling] = []
        self._known: set[str] = set()

    def handle(self, report: Report) -> Point | Ceiling | TraceInfo | None:
        """Commit a report; returns the value that the session gained, if any."""
        match report:
            case EnvironmentKnown(environment=environment):
                self._device = environment.device(self._device_id)
                self.store.add_environment(environment, self._device_id)
            case OutcomeRecorded(job=job, implementation=implementation, outcome=outcome):
                self._remember(implementation)
                return self.store.add_outcome(job, implementation, outcome)
            case CeilingRecorded(ceiling=ceiling):
                self._measured.append(ceiling)
                self.store.add_ceiling(ceiling)
                return ceiling
            case CeilingsComplete() if self._device:
                self._cache.save(self._device, tuple(self._measured))
            case TraceRecorded(job=job, implementation=implementation, chrome_json_gz=trace):
                self._remember(implementation)
                return self.store.add_trace(job, implementation, trace)
            case _:
                pass
        return None

    def _remember(self, implementation: Implementation) -> None:
        """Keep the spec and the sources behind an outcome, once."""
        kernel = self._catalog.kernel(implementation.kernel)
        if kernel is None or implementation.source_hash in self._known:
            return
        self._known.add(implementation.source_hash)
        self.store.add_kernel(kernel.spec)
        self.store.add_sources(implementation, kernel.sources(implementation))
