"""``main.py ceilings`` as a user runs it."""

import signal
from pathlib import Path

import pytest

from roofscope.app.cli.ceilings import show_ceilings
from roofscope.app.cli.errors import STOPPED
from roofscope.profiling.devices.host import cpu_device, package_version
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.roofline.roofline import Bound, Mix
from roofscope.profiling.supervision.run_events import Progressed, RunEvent
from roofscope.tests.worker.command_line import keep_ceilings, main


def test_kept_ceilings_are_printed_and_not_measured(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    done = main(tmp_path, "ceilings", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["DRAM", "copy", "4.00", "TB/s", "measured", "burst", "test"] in lines
    assert ["FP32", "60.0", "TFLOP/s", "measured", "burst", "test"] in lines
    assert "Measured on 20" in done.stdout


@pytest.mark.exhaustive
def test_a_fresh_probe_replaces_what_was_kept(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    done = main(tmp_path, "ceilings", "--device", "cpu", "--fresh")
    assert done.returncode == 0, done.stderr
    for word in ("read", "write", "copy", "triad", "FP32", "median of"):
        assert word in done.stdout
    assert " test" not in done.stdout
    cache = CeilingCache(pytest.fail, tmp_path / "cache" / "roofscope" / "ceilings")
    kept = cache.load(CacheKey.of(cpu_device(), package_version("torch")))
    assert {ceiling.mix for ceiling in kept if ceiling.bound is Bound.DRAM} == set(Mix)
    assert all(ceiling.method != "test" for ceiling in kept)


def test_ctrl_c_says_that_it_stopped_and_shows_no_empty_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    presses = [signal.SIGINT]

    def press(_progress: object, _bar: object, report: RunEvent, _left: object) -> None:
        if isinstance(report, Progressed) and report.stage and presses:
            signal.raise_signal(presses.pop())

    monkeypatch.setattr("roofscope.app.cli.progress._show", press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    try:
        assert show_ceilings(cpu_device(), fresh=True) == STOPPED
    finally:
        signal.signal(signal.SIGINT, before)
    assert not presses
    said = capsys.readouterr().out
    assert "Stopped" in said
    assert "provenance" not in said
    assert not list(tmp_path.rglob("*.json"))


def test_an_unknown_device_is_one_sentence(tmp_path: Path) -> None:
    done = main(tmp_path, "ceilings", "--device", "cuda:9")
    assert done.returncode == 2
    assert "There is no device 'cuda:9'" in done.stderr
