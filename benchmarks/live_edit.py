"""From a saved file to its moved point: ten saves of each version of a kernel, with a worker that is warm.

    python3 main.py -m roofscope.benchmarks.live_edit [--kernel softmax] [--device cuda:0] [--saves 10]
        [--version triton_online ...]

Works on a copy of the kernel, whose files it edits so that no cache of a compiler knows them. Prints the
median and the worst of each version, and the stages that the median save went through. The budgets, on an
H200: 3 s for CUDA C++, 5 s for Triton.
"""

import argparse
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.session import Point
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.live import record_live
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.run_events import Banner, BecameIdle, Progressed, RunEvent

_JIT = re.compile(r"(@triton\.(?:jit|autotune)(?:.|\n)*?\bdef \w+\((?:.|\n)*?\)\s*(?:->[^:\n]*)?:)[^\n]*\n")
_BUDGETS_S = {Provider.CUDA: 3.0, Provider.TRITON: 5.0}


class Saves:
    """Saves one version again each time that its point has come, and notes when what began."""

    def __init__(self, folder: Path, implementation: Implementation, count: int) -> None:
        suffix = ".cu" if implementation.provider in (Provider.CUDA, Provider.CUDA_EXT) else ".py"
        self._path = folder / f"{implementation.stem}{suffix}"
        self._text = self._path.read_text()
        self._left = count
        self._saved_at: float | None = None
        self._begun: dict[str, float] = {}
        self.times_s: list[float] = []
        self.stages: list[dict[str, float]] = []  # seconds after the save at which each began
        self.problem = ""

    def watch(self, report: RunEvent, gained: Gain | None) -> None:
        now = time.monotonic()
        if self._saved_at is not None and isinstance(report, Progressed) and report.stage:
            self._begun.setdefault(str(report.stage), now - self._saved_at)
        if isinstance(gained, Point):
            if not isinstance(gained.outcome, Measured):
                self.problem = gained.outcome.message
            elif self._saved_at is not None:
                self.times_s.append(now - self._saved_at)
                self.stages.append(self._begun)
        elif isinstance(report, Banner):
            print(report.text)
        elif isinstance(report, BecameIdle):
            self._save()

    def _save(self) -> None:
        if not self._left or self.problem:
            os.kill(os.getpid(), signal.SIGINT)  # as the user ends it
            return
        mark = f"save {self._left} at {time.time_ns()}"
        self._left -= 1
        if self._path.suffix == ".cu":
            text = f"{self._text}\n// {mark}\n"
        elif _JIT.search(self._text):  # by whose text Triton knows what it has compiled
            text = _JIT.sub(lambda found: f"{found[1]}  # {mark}\n", self._text)
        else:
            text = f"{self._text}\n# {mark}\n"
        self._begun = {}
        part = self._path.with_name(f".{self._path.name}.part")
        part.write_text(text)
        part.replace(self._path)
        self._saved_at = time.monotonic()


def main(arguments: Sequence[str]) -> int:
    asked = _parsed(arguments)
    devices = local_devices()
    device = next((one for one in devices if one.id == asked.device), None) or default_device(devices)
    is_gpu = device.kind is DeviceKind.CUDA
    providers = (Provider.EAGER, Provider.TRITON, Provider.CUDA) if is_gpu else (Provider.EAGER,)
    late = False
    with tempfile.TemporaryDirectory(prefix="roofscope-live-") as home:
        folder = _copied(asked.kernel, Path(home))
        [kernel] = scan([folder.parent]).kernels
        chosen = [one for one in kernel.implementations if one.stem in asked.version] or [
            next(one for one in kernel.implementations if one.provider is provider)
            for provider in providers
            if any(one.provider is provider for one in kernel.implementations)
        ]
        print(f"{device.name}, {asked.kernel}: seconds from a save to its point, {asked.saves} saves each\n")
        print("| version | median | worst | the median save: stages begun after |\n| --- | --- | --- | --- |")
        for implementation in chosen:
            saves = _measured(folder, implementation, device, asked.saves, Path(home))
            if not saves.times_s:
                print(f"| {implementation.stem} | - | - | {saves.problem} |")
                continue
            middle = median(saves.times_s)
            nearest = min(range(len(saves.times_s)), key=lambda at: abs(saves.times_s[at] - middle))
            stages = ", ".join(f"{stage} {at_s:.2f}" for stage, at_s in saves.stages[nearest].items())
            print(
                f"| {implementation.stem} | {middle:.2f} | {max(saves.times_s):.2f} | {stages} |", flush=True
            )
            late |= is_gpu and middle > _BUDGETS_S.get(implementation.provider, float("inf"))
    return int(late)


def _copied(name: str, home: Path) -> Path:
    """Under a name of its own, in a folder of its own."""
    folder = home / "kernels" / f"live_{name}"
    shutil.copytree(LIBRARY / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec = folder / "spec.py"
    spec.write_text(spec.read_text().replace(f'"{name}"', f'"live_{name}"', 1))
    return folder


def _measured(folder: Path, implementation: Implementation, device: Device, count: int, home: Path) -> Saves:
    """Raises SystemExit where the device is not free."""
    roots = [folder.parent]
    catalog = scan([LIBRARY, *roots])
    kernel = catalog.kernel(folder.name)
    assert kernel is not None
    jobs = plan_jobs(
        [kernel],
        device=device.id,
        dtypes=(),
        size_choices=[SizeChoice("large" if device.kind is DeviceKind.CUDA else "small", or_any=True)],
        stems=[implementation.stem],
    )
    saves = Saves(folder, implementation, count)
    ending = record_live(
        home / f"{implementation.stem}.roofscope",
        catalog,
        device,
        jobs,
        saves.watch,
        print,
        CeilingCache(print, home / "ceilings"),
        look_again=lambda: scan([LIBRARY, *roots], catalog),
        folders=[folder],
        kernel_roots=roots,
        wants=lambda one: one.stem == implementation.stem,
    )
    if ending.busy or ending.unusable:
        raise SystemExit(ending.busy or ending.unusable)
    return saves


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernel", default="softmax")
    parser.add_argument("--device", default="")
    parser.add_argument("--saves", type=int, default=10)
    parser.add_argument("--version", action="append", default=[])
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
