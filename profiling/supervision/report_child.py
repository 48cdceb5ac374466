"""Reads a report of Nsight Compute with NVIDIA's own module, in a process of its own.

    python3 main.py -m roofscope.profiling.supervision.report_child FILE [FOLDER...]

prints a Report as JSON. ``FOLDER``: where the module may lie beside ncu. The module is compiled code that is
given a file from anywhere: should it end its process, the program goes on.
"""

import importlib
import math
import resource
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Struct

from roofscope.profiling.plain_text import one_line
from roofscope.profiling.supervision.ncu_table import DETAIL, STALL, UNITS

MODULE = "ncu_report"
_MEMORY_BYTES = 16 << 30  # of addresses; a report of a thousand kernels takes some 200 MB
_DEVICE = "device__attribute_display_name"
_LONGEST_NAME = 2000  # characters of a kernel's


class ReportKernel(Struct, frozen=True):
    """One result: a kernel's figures by metric, in SI base units, shares from 0 to 1."""

    name: str
    figures: dict[str, float] = {}


class Report(Struct, frozen=True):
    """What this process says of a report; ``fault``: one clause, where it cannot say anything."""

    device: str = ""  # of its first kernel
    kernels: tuple[ReportKernel, ...] = ()
    others: int = 0  # results of ranges and graphs, which name no kernel
    fault: str = ""
    lacks_module: bool = False


def main() -> None:
    path, *folders = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    sys.stdout.write(msgspec.json.encode(_read(path, folders)).decode() + "\n")


def _read(path: str, folders: list[str]) -> Report:
    module = _module(folders)
    if module is None:
        return Report(lacks_module=True)
    try:
        return _report(module, module.load_report(path))
    except Exception as error:  # noqa: BLE001 - whatever another's module raises
        return Report(fault=one_line(str(error))[:300] or type(error).__name__)


def _module(folders: list[str]) -> ModuleType | None:
    """What is installed comes first: a package of this Python fits it, one beside ncu may not."""
    sys.path.extend(folders)
    try:
        return importlib.import_module(MODULE)
    except (ImportError, OSError):  # it is absent, or was built for another system
        return None


def _report(module: Any, context: Any) -> Report:
    actions = [
        found.action_by_idx(at)
        for found in map(context.range_by_idx, range(context.num_ranges()))
        for at in range(found.num_actions())
    ]
    kernels = [each for each in actions if _is_kernel(module, each)]
    device = kernels[0].metric_by_name(_DEVICE) if kernels else None
    return Report(
        device=str(device.as_string()) if device is not None else "",
        kernels=tuple(ReportKernel(_name(each), dict(_figures(each))) for each in kernels),
        others=len(actions) - len(kernels),
    )


def _is_kernel(module: Any, action: Any) -> bool:
    """Older modules know kernels alone."""
    if not hasattr(action, "workload_type"):
        return True
    return action.workload_type() == module.IAction.WorkloadType_KERNEL


def _name(action: Any) -> str:
    return str(action.name(action.NameBase_DEMANGLED))[:_LONGEST_NAME]


def _figures(action: Any) -> Iterator[tuple[str, float]]:
    stalls = [name for name in action.metric_names() if name.startswith(STALL)]
    for name in (*DETAIL, *stalls):
        metric = action.metric_by_name(name)
        if metric is not None and metric.has_value():
            value = float(metric.as_double()) * UNITS.get(metric.unit(), 1.0)
            if math.isfinite(value):
                yield name, value


if __name__ == "__main__":
    main()
