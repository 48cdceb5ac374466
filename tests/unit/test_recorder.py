"""What a run reports goes into the session as it was, whatever happens to files meanwhile."""

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from roofscope.profiling.devices.host import package_version
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.session_reader import load, load_code
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.roofline.roofline import Source
from roofscope.profiling.supervision.recorder import Recorder
from roofscope.profiling.supervision.run_events import (
    CeilingArrived,
    CeilingsComplete,
    CodeArrived,
    OutcomeArrived,
)
from roofscope.profiling.supervision.safe_store import SafeStore
from roofscope.tests.sessions import CEILINGS, DEVICE, job, measured
from roofscope.tests.worker.toys import REFERENCE, add_toy


@pytest.fixture
def eager(tmp_path: Path) -> Path:
    """The one file of the kernel ``toy``."""
    return add_toy(tmp_path / "mine", "toy", REFERENCE) / "eager.py"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with SessionStore.create(tmp_path / "a.roofscope") as store:
        yield store


def recorder(store: SessionStore, catalog: Catalog) -> Recorder:
    return Recorder(SafeStore(store), catalog, DEVICE, CeilingCache(print, store.path.parent / "ceilings"))


def outcome_of(catalog: Catalog) -> OutcomeArrived:
    """A time of the kernel's eager version as this catalog has it."""
    [kernel] = catalog.kernels
    eager = kernel.implementation("eager")
    assert eager is not None
    planned: Job = msgspec.structs.replace(
        job("gelu", Dtype.FLOAT32, "small", "job-1"), implementations=(eager,)
    )
    return OutcomeArrived(planned, eager, measured(1e-3))


def test_a_source_is_the_one_that_was_planned(store: SessionStore, eager: Path) -> None:
    catalog = scan([eager.parent.parent])
    eager.write_text("# edited while the run went on")
    recorder(store, catalog).handle(outcome_of(catalog))
    [(key, [source])] = load(store.path).sources.items()
    assert source.text == REFERENCE
    assert hashlib.sha256(b"eager" + source.text.encode()).hexdigest() == key


def test_generated_code_is_kept_with_the_source_that_it_was_made_of(store: SessionStore, eager: Path) -> None:
    catalog = scan([eager.parent.parent])
    planned, codes = outcome_of(catalog), (Code(CodeKind.INDUCTOR, "graph 1 of 1", "import torch"),)
    writer = recorder(store, catalog)
    kept = writer.handle(CodeArrived(planned.job, planned.implementation, codes))
    writer.handle(planned)
    session = load(store.path)
    assert session.codes == (kept,)
    assert session.codes[0].job == session.points[0].job
    assert len(session.sources) == 1
    assert load_code(store.path, 1) == codes


def test_no_source_is_better_than_another(store: SessionStore, eager: Path) -> None:
    planned = outcome_of(scan([eager.parent.parent]))
    eager.write_text("# edited, and read again before the rest of the run was taken up")
    recorder(store, scan([eager.parent.parent])).handle(planned)
    session = load(store.path)
    assert session.sources == {}
    assert set(session.specs) == {"toy"}


def test_what_cannot_be_written_goes_with_all_before_it_to_another_file_and_is_said(
    store: SessionStore, eager: Path
) -> None:
    catalog = scan([eager.parent.parent])
    said: list[str] = []
    safe = SafeStore(store, said.append)
    busy = Recorder(safe, catalog, DEVICE, CeilingCache(print, store.path.parent / "ceilings"))
    busy.handle(outcome_of(catalog))
    store._connection.execute("PRAGMA busy_timeout = 0")
    with contextlib.closing(sqlite3.connect(store.path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        busy.handle(outcome_of(catalog))
    busy.handle(outcome_of(catalog))
    safe.close()
    path = store.path.with_name("a-rescued.roofscope")
    assert safe.store.path == path
    why = f"{store.path} cannot be written: database is locked."
    assert said == [f"{why} The run goes on in {path}, which has the 2 results so far."]
    session = load(path)
    assert len(session.points) == 3
    assert set(session.specs) == {"toy"}
    assert len(session.sources) == 1
    assert session.identity == load(store.path).identity


def test_a_kernel_that_shares_its_file_with_another_has_its_spec_kept(
    store: SessionStore, eager: Path
) -> None:
    add_toy(eager.parent.parent, "twin", REFERENCE)
    catalog = scan([eager.parent.parent])
    keeping = recorder(store, catalog)
    for kernel in catalog.kernels:
        keeping.handle(outcome_of(Catalog((kernel,), (), catalog.hash)))
    session = load(store.path)
    assert set(session.specs) == {"toy", "twin"}
    assert len(session.sources) == 1


def test_each_probe_is_kept_by_itself(store: SessionStore, eager: Path) -> None:
    """Else what an earlier one measured would be kept as if it were of the newest."""
    probing = recorder(store, scan([eager.parent.parent]))
    first, second = CEILINGS[:2]
    for ceiling in (first, second):
        probing.handle(CeilingArrived(ceiling))
        probing.handle(CeilingsComplete(DEVICE.id))
    kept = probing.known_ceilings()
    assert second in kept
    assert first not in kept


def test_what_a_stopped_or_refused_probe_left_gives_way_to_the_next(store: SessionStore, eager: Path) -> None:
    probing = recorder(store, scan([eager.parent.parent]))
    false, true = replace(CEILINGS[0], value=43.5e12), CEILINGS[0]
    probing.handle(CeilingArrived(false))  # and no completion
    probing.handle(CeilingArrived(true))
    probing.handle(CeilingsComplete(DEVICE.id))
    kept = probing.known_ceilings()
    assert true in kept
    assert false not in kept


def test_a_kept_ceiling_that_no_session_takes_is_as_unknown(store: SessionStore, tmp_path: Path) -> None:
    cache = CeilingCache(print, tmp_path / "ceilings")
    dated = msgspec.structs.replace(CEILINGS[0], source=Source.MEASURED_BURST, recorded_at="yesterday")
    cache.save(CacheKey.of(DEVICE, package_version("torch")), [dated])
    known = Recorder(SafeStore(store), scan([]), DEVICE, cache).known_ceilings()
    assert all(ceiling.source is Source.NAMEPLATE for ceiling in known)
    assert load(store.path).ceilings == known
