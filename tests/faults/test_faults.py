"""A few faults on the real program; `python3 -P main.py -m roofscope.tests.faults` tries all."""

import tempfile
from pathlib import Path

import pytest

from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.faults.corpus import Need, read_corpus
from roofscope.tests.faults.judge import Row, judge
from roofscope.tests.faults.run import carry_out

CORPUS = {fault.name: fault for fault in read_corpus()}
# They share one run, so that the minute of `make test` is not spent on starts.
SAMPLE = (
    "crash_segv",
    "crash_system_exit",
    "left_child_in_session",
    "lie_exception_escapes",
    "folder_editor_lock",
)
ALONE = ("left_child_outlives_crash", "spec_exits")
# Of all five: where the clock is noisy, each honest kernel is timed for as long as it may be.
LIMIT_S = 240.0


@pytest.fixture(autouse=True)
def measures_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """What becomes of a run is asked, not for good times; half of these was the system's, for fresh pages."""
    monkeypatch.setenv("ROOFSCOPE_BRIEF", "1")
    for name in ("MMAP", "TRIM"):  # glibc's: tensors that are freed leave their pages to the next
        monkeypatch.setenv(f"MALLOC_{name}_THRESHOLD_", str(1 << 30))


def rows_of(*names: str) -> list[Row]:
    faults = [CORPUS[name] for name in names]
    with tempfile.TemporaryDirectory(prefix="roofscope-faults-", ignore_cleanup_errors=True) as folder:
        seen = carry_out(faults, cpu_device(), Path(folder), LIMIT_S, grace_s=60.0)
        return [judge(fault, seen, is_busy=True) for fault in faults]


def wrong(rows: list[Row]) -> list[str]:
    return [
        f"{row.name}: {row.title}\n{row.saw}\n{'; '.join(row.why)}\nleft: {row.left} {row.locks}"
        for row in rows
        if not row.is_right
    ]


def test_a_sample_is_survived_in_one_run() -> None:
    """One test: as many as there are faults would run it again in each process of pytest-xdist."""
    rows = rows_of(*SAMPLE)
    assert [row.name for row in rows] == list(SAMPLE)
    assert not (found := wrong(rows)), "\n\n".join(found)


@pytest.mark.parametrize("name", ALONE)
def test_what_might_end_or_hang_the_program_is_survived(name: str) -> None:
    assert not (found := wrong(rows_of(name))), found[0]


def test_the_corpus_is_large_and_says_what_is_right() -> None:
    corpus = CORPUS.values()
    assert sum(fault.needs is Need.CPU for fault in corpus) >= 80
    assert sum(fault.needs is not Need.CPU for fault in corpus) >= 20
    assert len(CORPUS) == len(read_corpus())  # a name stands for one
    assert all(fault.title.endswith(".") and fault.right for fault in corpus)


@pytest.mark.parametrize(
    "name",
    [one.name for one in CORPUS.values() if one.needs is Need.NVRTC and "build error" not in one.right],
)
def test_cuda_sources_compile(name: str) -> None:
    """Else what they do on a GPU would never be seen."""
    cuda = pytest.importorskip("roofscope.profiling.worker.build.providers.cuda")
    path = CORPUS[name].path
    assert path is not None
    assert cuda.compile_source(path.with_suffix(".cu"), Dtype.FLOAT32, "sm_90a")
