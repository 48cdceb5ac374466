"""Counters of a point from a report that Nsight Compute wrote elsewhere: a file `.ncu-rep`.

A report keeps what its kernels did under the options of the run that wrote it. Whether caches were flushed
before each kernel, as ncu does by default, it does not say; so its bytes are shown, and prove nothing.
"""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from msgspec.structs import replace

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.devices.nsight_compute import report_module_folders
from roofscope.profiling.paths import is_file, module_command
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.process_tree import end_tree
from roofscope.profiling.results.counters import Counters, Level
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.supervision import report_child
from roofscope.profiling.supervision.ncu_table import SEPARATOR, Table, counters_of
from roofscope.profiling.supervision.report_child import Report, ReportKernel

_PATIENCE_S = 120.0
_MOST_BYTES = 64 << 20  # of an answer
_NO_KERNELS = ("Memcpy", "Memset")  # which CUPTI lists among kernels, and ncu does not
_NO_NAMESPACE = re.compile(r"\(anonymous namespace\)::|<unnamed>::")


class CannotRead(Exception):
    """The report says nothing of the point; the text is one sentence with what to do."""


def counters_from(path: Path, point: Point, session: Session) -> Counters:
    """What a report says of a call of the point. Raises CannotRead."""
    report = read_report(path)
    device = session.device_of(point)
    if device and report.device and device.name != report.device:
        raise CannotRead(f"{path.name} is of {report.device}, the point of {device.name}.")
    calls, kernels = _calls_of(report.kernels, point, path.name)
    one = len(kernels) // calls
    found = counters_of("Nsight Compute", _table(kernels), calls, _table(kernels[:one]))
    missing = _missing(found, kernels)
    if all(found.bytes_at(level) is None for level in Level):
        raise CannotRead(f"{path.name} has no bytes of any memory; let ncu write it by --set full.")
    return replace(found, report=path.name, problem=missing)


def read_report(path: Path) -> Report:
    """All kernels of a report. Raises CannotRead."""
    if not is_file(path):
        raise CannotRead(f"{path} is no file; choose a report of Nsight Compute.")
    folders = map(str, report_module_folders())
    child = subprocess.Popen(
        [*module_command(report_child.__name__), str(path.resolve()), *folders],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        said, _ = child.communicate(timeout=_PATIENCE_S)
        report = decode(said, Report, most_bytes=_MOST_BYTES)
    except subprocess.TimeoutExpired as error:
        raise CannotRead(
            f"{path.name} was not read within {_PATIENCE_S:.0f} s; write a smaller report."
        ) from error
    except UnreadableError as error:
        raise CannotRead(
            f"{report_child.MODULE} ended while it read {path.name}; write the report again."
        ) from error
    finally:
        end_tree(child.pid)
        child.wait()
    if report.lacks_module:
        raise CannotRead(
            f"The module {report_child.MODULE} is not here; install it (pip install ncu-report into "
            f"{one_line(sys.prefix)}), or Nsight Compute, which has it in extras/python."
        )
    if report.fault:
        raise CannotRead(f"{path.name} cannot be read ({report.fault}); write the report again.")
    if not report.kernels:
        others = " It holds ranges or graphs alone; let ncu profile kernels." if report.others else ""
        raise CannotRead(f"{path.name} holds no kernel that Nsight Compute profiled.{others}")
    return report


def _calls_of(kernels: Sequence[ReportKernel], point: Point, name: str) -> tuple[int, Sequence[ReportKernel]]:
    """How many calls of the point the report holds, and their kernels, in order."""
    separators = [at for at, kernel in enumerate(kernels) if SEPARATOR in kernel.name]
    if len(separators) > 1:
        raise CannotRead(f"{name} is of {len(separators)} points; let --ncu-command write that of one.")
    kernels = kernels[separators[0] + 1 :] if separators else kernels
    if not kernels:
        raise CannotRead(f"{name} holds no kernel of the point: its call launched none.")
    launched = _launched(point)
    if not launched:  # an older session, or a point that the profiler did not observe
        return 1, kernels
    own = [kernel for kernel in kernels if _bare(kernel.name) in launched]
    if not own:
        raise CannotRead(f"{name} holds no kernel of the point, which runs {', '.join(sorted(launched))}.")
    found = Counter(_bare(kernel.name) for kernel in own)
    calls = {Fraction(found[each]) / launched[each] for each in launched}
    [count, *others] = calls
    if others or count.denominator != 1 or not count:
        held = ", ".join(f"{found[each]} of {each}" for each in launched)
        raise CannotRead(f"{name} holds no whole calls of the point ({held}); let ncu profile whole ones.")
    return int(count), own


def _launched(point: Point) -> Mapping[str, Fraction]:
    """How often a call launches each kernel, by bare name; empty where that is not known."""
    found: defaultdict[str, Fraction] = defaultdict(Fraction)
    for kernel in point.measured.kernels if point.measured else ():
        if kernel.calls and not kernel.name.startswith(_NO_KERNELS):
            found[_bare(kernel.name)] += Fraction(kernel.calls).limit_denominator(1000)
    return found


def _bare(name: str) -> str:
    """``vectorized`` of ``void at::vectorized<4, float>(int)``: CUPTI and ncu write types otherwise."""
    text = re.split(r"[<(]", _NO_NAMESPACE.sub("", name), maxsplit=1)[0].strip()
    return text.rsplit("::", 1)[-1].split(" ")[-1]


def _table(kernels: Sequence[ReportKernel]) -> Table:
    """As ncu would have printed them; the figures are in base units already."""
    return Table(
        tuple(
            {"Kernel Name": each.name, **{name: repr(value) for name, value in each.figures.items()}}
            for each in kernels
        )
    )


def _missing(found: Counters, kernels: Sequence[ReportKernel]) -> str:
    """One sentence of what the report has no figure for; "" where it has all."""
    has_flops = any("_op_ffma_pred_on.sum" in name for each in kernels for name in each.figures)
    lacks = [str(level) for level in Level if found.bytes_at(level) is None]
    lacks += [] if has_flops else ["FLOPs"]
    lacks += [] if found.occupancy is not None else ["occupancy"]
    if not lacks:
        return ""
    return f"The report has no {' and no '.join(lacks)}; the command that --ncu-command prints counts them."
