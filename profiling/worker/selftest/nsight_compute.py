"""The headline against Nsight Compute's gpu__time_duration, where ncu is there and counters are permitted."""

import csv
import statistics
import subprocess
from typing import NamedTuple

import psutil

from roofscope.profiling.analysis.agreement import Agreement
from roofscope.profiling.analysis.selftest_limits import judge_agreement, skipped
from roofscope.profiling.devices.nsight_compute import MISSING, find_ncu, why_refused
from roofscope.profiling.paths import module_command
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.worker.selftest.cases import Case, cases_for_counters, known_durations
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.timing.profiler import profile_turn

CALLS = 12  # of each case under ncu
CHILD = "roofscope.profiling.worker.selftest.ncu_child"
_METRIC = "gpu__time_duration.sum"
_TIMEOUT_S = 120.0
_SECONDS = {
    "nsecond": 1e-9, "usecond": 1e-6, "msecond": 1e-3, "second": 1.0,
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0,
}  # fmt: skip


class _Reading(NamedTuple):
    """One call by three instruments, in seconds."""

    label: str
    headline_s: float
    ncu_s: float
    cupti_s: float | None  # without the clock's own kernels


class NcuRefused(Exception):
    """Nsight Compute did not measure; the text is one sentence with the reason."""


def prove(rig: Rig) -> Proof:
    """Kernels of known duration, then five calls, each in this process and in a child under ncu.

    A constant that an instrument adds to every kernel says nothing about either, so it is taken off.
    """
    name = ProofName.NSIGHT_COMPUTE
    if not rig.is_cuda:
        return skipped(name, "Nsight Compute counts on an NVIDIA GPU; this is a CPU.")
    ncu = find_ncu()
    if ncu is None:
        return skipped(name, MISSING)
    probes, _ = rig.testbed.own_kernels
    spins, cases = known_durations(rig), cases_for_counters(rig, probes)
    try:
        counted = durations_of(_run(ncu, rig.device.id), len(spins) + len(cases))
    except NcuRefused as error:
        return skipped(name, str(error))
    pairs = list(zip([*spins, *cases], counted, strict=True))
    readings = [_read(rig, case, ncu_s) for case, ncu_s in pairs]
    more_s = [reading.ncu_s - reading.headline_s for reading in readings[: len(spins)]]
    constant_s = statistics.median(more_s) if more_s else 0.0
    found = [
        Agreement(r.label, r.headline_s, r.ncu_s - constant_s, None, (r.ncu_s, r.cupti_s)) for r in readings
    ]
    remark = f" Of a known duration ncu says {constant_s * 1e6:.2f} µs more, whatever it is."
    return judge_agreement(name, found, "ncu less its constant", ["ncu", "CUPTI"], remark if spins else "")


def durations_of(table: str, case_count: int) -> list[float]:
    """Median seconds of each case from ncu's CSV, whose kernels come in the order of the calls.

    Raises NcuRefused where the numbers of kernels and calls differ.
    """
    lines = [line for line in table.splitlines() if line.startswith('"')]
    rows = [row for row in csv.DictReader(lines) if row.get("Metric Name") == _METRIC]
    if len(rows) != case_count * CALLS:
        raise NcuRefused(
            f"ncu saw {len(rows)} kernels where {case_count * CALLS} were launched; nothing can be compared."
        )
    seconds = [_seconds(row["Metric Value"], row["Metric Unit"]) for row in rows]
    return [statistics.median(seconds[i * CALLS : (i + 1) * CALLS]) for i in range(case_count)]


def _seconds(value: str, unit: str) -> float:
    if unit not in _SECONDS:
        raise NcuRefused(f"ncu gave a duration in {unit!r}, which is no unit of time known here.")
    return float(value.replace(",", "")) * _SECONDS[unit]


def _read(rig: Rig, case: Case, ncu_s: float) -> _Reading:
    sets = rig.sets(case.make, case.bytes_per_call)
    [turn] = rig.measured((case.call, sets))
    profile = profile_turn(turn)
    return _Reading(case.label, turn.interval.median, ncu_s, profile.kernel_sum_s or None)


def _run(ncu: str, device_id: str) -> str:
    """What ncu prints of the child's kernels. Raises NcuRefused."""
    command = [
        ncu, "--csv", "--print-units", "base", "--metrics", _METRIC, "--clock-control", "none",
        "--cache-control", "none", "--profile-from-start", "off", *module_command(CHILD), device_id,
    ]  # fmt: skip
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        output, errors = process.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        _end(process.pid)
        process.communicate()
        raise NcuRefused(f"ncu did not end within {_TIMEOUT_S:.0f} s.") from None
    if process.returncode != 0:
        print(output, errors, sep="\n", flush=True)  # noqa: T201 - the worker's standard output is its log
        raise NcuRefused(why_refused(process.returncode, f"{output}\n{errors}".splitlines()))
    return output


def _end(pid: int) -> None:
    """End ncu and its child, which it may leave behind."""
    process = psutil.Process(pid)
    for child in (*process.children(recursive=True), process):
        child.kill()
