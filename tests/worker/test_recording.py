"""One run from its tasks to the session file, with a real worker."""

import os
from pathlib import Path

import pytest

from roofscope.profiling.devices.device_lock import lock_device
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.revision import revision_labels
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recording import Ending, record
from roofscope.tests.worker.toys import REFERENCE, add_toy

CPU = cpu_device()


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return add_toy(tmp_path / "mine", "toy", REFERENCE).parent


LABELS = {"night": "17"}


def _look_away(*_: object) -> None: ...


def measure(path: Path, mine: Path, *, append: bool = False) -> Ending:
    catalog: Catalog = scan([LIBRARY, mine])
    kernel = catalog.kernel("toy")
    assert kernel is not None
    sizes = [SizeChoice("small")]
    jobs = plan_jobs([kernel], device=CPU.id, dtypes=[Dtype.FLOAT32], size_choices=sizes, stems=["eager"])
    cache = CeilingCache(print, path.parent / "ceilings")
    tasks, roots = list(map(Run, jobs)), [mine]
    return record(
        path, catalog, CPU, tasks, _look_away, cache, kernel_roots=roots, labels=LABELS, append=append
    )


def test_what_a_run_yields_is_in_the_file_and_more_can_be_added(tmp_path: Path, mine: Path) -> None:
    path = tmp_path / "a.roofscope"
    ending = measure(path, mine)
    assert [type(gained) for gained in ending.gains] == [Point]
    assert not ending.was_stopped
    assert not ending.busy
    with pytest.raises(SessionError, match="exists already"):
        measure(path, mine)
    identity = load(path).identity
    assert identity.labels == {**revision_labels(scan([LIBRARY, mine])), **LABELS}
    measure(path, mine, append=True)
    assert len(load(path).points) == 2
    assert load(path).identity == identity


def test_a_busy_device_says_so_and_leaves_no_empty_session(tmp_path: Path, mine: Path) -> None:
    path = tmp_path / "a.roofscope"
    with lock_device(CPU.uuid, CPU.name):
        ending = measure(path, mine)
    assert ending.gains == ()
    assert ending.busy.startswith(f"Another Roofscope is measuring on {CPU.name} (process {os.getpid()} of ")
    assert ending.busy.endswith("; wait until it is done, or stop it there.")
    assert not path.exists()


def test_a_busy_device_costs_no_session_that_was_there(tmp_path: Path, mine: Path) -> None:
    path = tmp_path / "a.roofscope"
    measure(path, mine)
    with lock_device(CPU.uuid, CPU.name):
        assert measure(path, mine, append=True).busy
    assert len(load(path).points) == 1
