"""How long threads waited for a core, read from files as Linux writes them."""

from pathlib import Path

import pytest

from roofscope.profiling.worker.timing import waits as waits_module
from roofscope.profiling.worker.timing.waits import waits


def thread(folder: Path, number: int, waited_ns: int) -> Path:
    file = folder / "task" / str(number) / "schedstat"
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(f"1037320714 {waited_ns} 97\n")
    return file


def test_all_threads_and_other_machines_count(tmp_path: Path) -> None:
    cpus = tmp_path / "stat"
    first, _ = thread(tmp_path / "self", 1, 3_000_000), thread(tmp_path / "self", 2, 500_000)
    cpus.write_text("cpu  1387033 68173 136656 853204 4976 0 2104 20 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n")
    with waits(proc=tmp_path) as waited_s:
        before_s = waited_s()
        first.write_text("1037320714 5000000 98\n")
        assert waited_s() - before_s == pytest.approx(2e-3)
        cpus.write_text("cpu  1387033 68173 136656 853204 4976 0 2104 21 0 0\n")
        assert waited_s() - before_s == pytest.approx(12e-3)  # a tick of 10 ms was stolen


def test_without_these_files_involuntary_switches_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits_module, "_switches_s", lambda: 0.5)
    with waits(proc=tmp_path / "none") as waited_s:
        assert waited_s() == 0.5
