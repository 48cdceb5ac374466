"""Tries faults on the program, and prints what the user saw and what survived.

python3 -P main.py -m roofscope.tests.faults [NAME ...] [--group GROUP] [--device cuda] [--out FILE]
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.discovery import local_devices
from roofscope.tests.faults.corpus import Fault, Need, Role, read_corpus
from roofscope.tests.faults.judge import MOST_COMPILING_S, Row, judge
from roofscope.tests.faults.run import GRACE_S, carry_out

_MOST_SHOWN = 110  # characters of what the user saw


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 only where all survived in time, and nothing was left."""
    chosen = _parser().parse_args(arguments)
    device = _device(chosen.device)
    if chosen.list:
        for fault in read_corpus():
            sys.stdout.write(f"{fault.group:8} {fault.needs:7} {fault.name:34} {fault.title}\n")
        return 0
    faults = _chosen(chosen, device)
    sys.stdout.write("| fault | class | what the user saw | survived | next point | end | left |\n")
    sys.stdout.write("|---|---|---|---|---:|---:|---|\n")
    rows: list[Row] = []
    began = time.monotonic()
    for row in tried(faults, device, chosen):
        rows.append(row)
        sys.stdout.write(f"{_line(row)}\n")
        sys.stdout.flush()
    if chosen.out:
        chosen.out.write_bytes(msgspec.json.format(msgspec.json.encode(rows)))
    broken, slow = [row for row in rows if not row.is_right], [row for row in rows if row.is_slow]
    sys.stdout.write(f"\n{_conclusion(device, rows, broken, slow, time.monotonic() - began)}\n")
    return 1 if broken or (slow and not chosen.unhurried) else 0


def tried(faults: Sequence[Fault], device: Device, chosen: argparse.Namespace) -> Iterator[Row]:
    """Those that may share a run do; each that does not come out right is then tried by itself."""
    for group in _grouped(faults, chosen.together):
        rows = _tried(group, device, chosen)
        for fault, row in zip(group, rows, strict=True):
            again = len(group) > 1 and ((row.is_slow and not chosen.unhurried) or not row.is_right)
            if again:
                sys.stderr.write(f"{fault.name} is tried again by itself: {'; '.join(row.why) or 'slow'}\n")
            yield _tried([fault], device, chosen)[0] if again else row


def _tried(faults: Sequence[Fault], device: Device, chosen: argparse.Namespace) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="roofscope-faults-", ignore_cleanup_errors=True) as folder:
        limit_s = chosen.limit * len(faults) + sum(MOST_COMPILING_S for fault in faults if fault.is_compiling)
        seen = carry_out(faults, device, Path(folder), limit_s, chosen.grace)
        return [judge(fault, seen, is_busy=chosen.unhurried) for fault in faults]


def _grouped(faults: Sequence[Fault], together: int) -> Iterator[list[Fault]]:
    left_out = [fault for fault in faults if not fault.is_planned] if together > 1 else []
    if left_out:  # all folders are read before the run: one kernel follows all of these
        yield [msgspec.structs.replace(fault, honest=left_out[0].after) for fault in left_out]
    group: list[Fault] = []
    for fault in faults:
        if fault in left_out:
            continue
        is_alone = fault.is_alone or fault.around or fault.shot or fault.role is Role.COMPILE
        if is_alone:
            yield [fault]
            continue
        group.append(fault)
        if len(group) == together:
            yield group
            group = []
    if group:
        yield group


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="of faults; all that the device can run if none")
    parser.add_argument("--group", action="append", default=[], help="a class, such as hang; may be repeated")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda for those that need a GPU")
    parser.add_argument("--every", action="store_true", help="on a GPU: those that need none as well")
    parser.add_argument("--part", default="1/1", help="such as 2/3: the second third")
    parser.add_argument("--together", type=int, default=1, help="how many may share a run, if all goes well")
    parser.add_argument(
        "--limit", type=float, default=120.0, help="seconds a fault, after which it is a hang"
    )
    parser.add_argument("--grace", type=float, default=GRACE_S, help="seconds in which processes may end")
    parser.add_argument("--unhurried", action="store_true", help="judge no seconds: on a busy machine")
    parser.add_argument("--out", type=Path, help="where to write the rows as JSON")
    parser.add_argument("--list", action="store_true", help="name them, and try none")
    return parser


def _device(name: str) -> Device:
    wanted = "cuda:0" if name == "cuda" else name
    found = next((device for device in local_devices() if device.id == wanted), None)
    if found is None:
        sys.exit(f"There is no device {name!r} here.")
    return found


def _chosen(chosen: argparse.Namespace, device: Device) -> list[Fault]:
    corpus = read_corpus()
    known = {fault.name for fault in corpus} | {fault.group for fault in corpus}
    if unknown := [name for name in (*chosen.names, *chosen.group) if name not in known]:
        sys.exit(f"There is no fault or class {unknown[0]!r}; --list names them.")
    wanted = [
        fault
        for fault in corpus
        if (not chosen.names and not chosen.group)
        or fault.name in chosen.names
        or fault.group in chosen.group
    ]
    is_gpu = device.kind is DeviceKind.CUDA
    all_of_them = is_gpu and (chosen.names or chosen.group or chosen.every)
    here = [one for one in wanted if all_of_them or (one.needs is not Need.CPU) is is_gpu]
    number, count = (int(word) for word in chosen.part.split("/"))
    return here[number - 1 :: count]


def _line(row: Row) -> str:
    saw = " ".join(row.saw.split())[:_MOST_SHOWN].replace("|", "\\|")
    sign = "yes" if row.survived else f"**NO**: {'; '.join(row.why)[:400]}".replace("|", "\\|")
    seconds = f"{row.next_s:.1f} s" if row.next_s is not None else "-"
    left = ", ".join((*row.left, *(f"lock {name}" for name in row.locks))) or "-"
    slow = " (slow)" if row.is_slow else ""
    return (
        f"| {row.name} | {row.group} | {saw} | {sign} | {seconds}{slow} | {row.end_s:.1f} s | {left[:200]} |"
    )


def _conclusion(device: Device, rows: list[Row], broken: list[Row], slow: list[Row], wall_s: float) -> str:
    seconds = sorted(row.next_s for row in rows if row.next_s is not None)
    greatest = (
        f"greatest {seconds[-1]:.1f} s, median {seconds[len(seconds) // 2]:.1f} s" if seconds else "none"
    )
    lines = [
        (
            f"{device.name}: {sum(row.survived for row in rows)} of {len(rows)} survived; "
            f"{sum(bool(row.left) for row in rows)} left processes, "
            f"{sum(bool(row.locks) for row in rows)} a lock; {len(slow)} were slow; "
            f"to the next point {greatest}; {wall_s:.0f} s in all."
        )
    ]
    if names := [row.name for row in broken]:
        lines.append(f"Not survived, or not without a trace: {', '.join(names)}.")
    if names := [row.name for row in slow]:
        lines.append(f"Slow: {', '.join(names)}.")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
