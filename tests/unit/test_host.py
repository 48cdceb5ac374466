"""Facts of a machine, read from small pretended /proc and /sys trees where the real ones vary."""

import os
import sys
from pathlib import Path

import psutil
import pytest

from roofscope.profiling.devices import host
from roofscope.profiling.devices.device import DeviceKind

linux_only = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="affinity is Linux's")


def system_cpus(root: Path, caches: dict[int, list[tuple[int, str, str]]], siblings: dict[int, str]) -> Path:
    """A /sys/devices/system/cpu with (level, size, shared list) per CPU."""
    for cpu, entries in caches.items():
        topology = root / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(siblings[cpu] + "\n")
        for index, (level, size, shared) in enumerate(entries):
            folder = root / f"cpu{cpu}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            (folder / "level").write_text(f"{level}\n")
            (folder / "size").write_text(f"{size}\n")
            (folder / "shared_cpu_list").write_text(f"{shared}\n")
    return root


def allow(monkeypatch: pytest.MonkeyPatch, *cpus: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(cpus))


def test_cpu_is_a_device_of_this_machine() -> None:
    device = host.cpu_device()
    assert (device.id, device.kind) == ("cpu", DeviceKind.CPU)
    assert device.name
    assert device.uuid.startswith("cpu-")
    assert device == host.cpu_device()
    assert device.memory_bytes is not None
    assert 0 < device.memory_bytes <= psutil.virtual_memory().total
    assert device.core_count is not None
    assert 1 <= device.core_count <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        (
            "processor\t: 0\nmodel name\t: AMD  EPYC 9654   96-Core Processor\n",
            "AMD EPYC 9654 96-Core Processor",
        ),
        ("processor\t: 0\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R)\n", "Intel(R) Xeon(R)"),
    ],
)
def test_model_is_the_makers(tmp_path: Path, cpuinfo: str, model: str) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(cpuinfo)
    assert host.cpu_model(path) == model


def test_model_is_never_empty(tmp_path: Path) -> None:
    assert host.cpu_model(tmp_path / "absent")


@linux_only
def test_cores_are_counted_once_per_pair_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = system_cpus(tmp_path, {cpu: [] for cpu in range(4)}, {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"})
    allow(monkeypatch, 0, 1, 2, 3)
    assert host.available_core_count(root) == 2
    allow(monkeypatch, 0, 2)
    assert host.available_core_count(root) == 1
    assert host.available_core_count(tmp_path / "absent") == 2  # topology hidden: logical CPUs


@linux_only
def test_last_level_cache_adds_up_over_its_instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {
        cpu: [(1, "32K", str(cpu)), (2, "1M", str(cpu)), (3, "32768K", shared)]
        for cpu, shared in enumerate(("0-1", "0-1", "2-3", "2-3"))
    }
    root = system_cpus(tmp_path, entries, {cpu: str(cpu) for cpu in range(4)})
    allow(monkeypatch, 0, 1, 2, 3)
    assert host.last_level_cache_bytes(root) == 2 * 32768 * 1024
    allow(monkeypatch, 0, 1)
    assert host.last_level_cache_bytes(root) == 32768 * 1024
    assert host.last_level_cache_bytes(tmp_path / "absent") is None


def test_memory_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(host, "_MEMORY_LIMITS", (limit, tmp_path / "absent"))
    limit.write_text("1000000\n")
    assert host.available_memory_bytes() == 1000000
    limit.write_text("max\n")
    assert host.available_memory_bytes() == psutil.virtual_memory().total


def test_compiler_of_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mycc", "gcc"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "mycc")
    assert host.c_compiler() == str(tmp_path / "mycc")
    monkeypatch.delenv("CC")
    assert host.c_compiler() == str(tmp_path / "gcc")
    monkeypatch.delenv("CXX", raising=False)
    assert host.cxx_compiler() is None


def test_environment_lists_what_is_installed() -> None:
    device = host.cpu_device()
    found = host.environment((device,), ("Nothing.",))
    assert found.device("cpu") == device
    assert found.missing == ("Nothing.",)
    assert found.python == ".".join(map(str, sys.version_info[:3]))
    versions = {package.name: package.version for package in found.packages}
    assert versions["numpy"] == host.package_version("numpy") is not None
    assert host.package_version("no-such-package-as-this") is None


def test_state_of_the_cpu_is_within_its_bounds() -> None:
    state = host.cpu_state()
    assert state.utilization is not None
    assert 0 <= state.utilization <= 1
    assert state.memory_used_bytes is not None
    assert 0 < state.memory_used_bytes < psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("platform", "variables", "found"),
    [
        ("linux", {"DISPLAY": ":0"}, ":0"),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, "wayland-0"),
        ("linux", {"QT_QPA_PLATFORM": "offscreen"}, "offscreen"),
        ("linux", {"DISPLAY": ""}, ""),
        ("linux", {}, ""),
        ("win32", {}, "present"),
    ],
)
def test_a_screen_is_where_qt_would_draw(platform: str, variables: dict[str, str], found: str) -> None:
    assert host.screen(platform, variables) == found
