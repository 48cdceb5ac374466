"""Measures the window's budgets without a screen: start, blocks of the GUI thread, frames, large tables.

    python -P main.py -m roofscope.benchmarks.window_budgets [--against DIR] [--parts start actions]

``--against`` measures another checkout too, in turn with this one, so that both meet the same machine. Each
part is a process of its own. Prints a line a budget with the median and the worst of its readings, by the
wall and in CPU time, which does not run while other programs have the core; the wall is what a user waits
for. Ends with 0 only where the worst of this checkout keeps every budget.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

HERE = Path(__file__).resolve().parents[1]
PARTS = ("start", "actions", "arriving", "frames", "table", "crowd", "many")
START = "window up, warm"
BUDGETS_S = {
    START: 1.0,
    **dict.fromkeys(("selection", "sort", "filter key", "PNG", "SVG", "copy image"), 0.05),
    **dict.fromkeys(("copy rows", "theme", "Run"), 0.05),
    **dict.fromkeys(("layout", "text size", "height on the chart", "pin", "session opens"), 0.05),
    **dict.fromkeys(("10,000 rows: selection", "10,000 rows: layout", "10,000 rows: text size"), 0.05),
    **dict.fromkeys(("10,000 rows: height on the chart", "10,000 rows: pin"), 0.05),
    "points at 20 a second into 300": 0.05,
    "points at 20 a second into 10,000": 0.05,
    "pan, 300 points": 1 / 60,
    "zoom, 300 points": 1 / 60,
    "pan, 10,000 points": 1 / 30,
    "zoom, 10,000 points": 1 / 30,
    "10,000 rows: table opens": 0.5,
    "10,000 rows: window opens": 0.5,
    "10,000 rows: sort": 0.05,
    "10,000 rows: filter key": 0.05,
    "100,000 rows: sort": 0.1,
}


class Reading(Struct, frozen=True):
    name: str
    wall_s: float
    cpu_s: float


def readings(checkout: Path, part: str, repeats: int) -> tuple[list[Reading], bool]:
    """What one process of the measuring half says, and whether it came to its end."""
    measuring = Path(__file__).with_name("window_actions.py")
    argv = [sys.executable, "-P", str(measuring), str(checkout), part, str(repeats)]
    started_at = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="roofscope-budgets-") as folder:  # whatever ends the part
        environment = {**os.environ, "TMPDIR": folder}
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        print(f"{checkout}: the part {part} ended early: {last}", file=sys.stderr)
    found = [Reading(*json.loads(line)) for line in done.stdout.splitlines() if line.startswith("[")]
    if part == "start":
        found = [Reading(START, each.wall_s - started_at, each.cpu_s) for each in found]
    return found, not done.returncode


def measured(
    checkouts: Iterable[Path], parts: Iterable[str], repeats: int
) -> tuple[dict[Path, list[Reading]], bool]:
    """Every part of every checkout, in turn; of the start one process a reading, the first not counted.

    And whether each part of this checkout came to its end.
    """
    found: dict[Path, list[Reading]] = {checkout: [] for checkout in checkouts}
    is_whole = True
    for part in parts:
        for turn in range(repeats + 1 if part == "start" else 1):
            for checkout, mine in found.items():
                new, has_ended = readings(checkout, part, repeats)
                is_whole &= has_ended or checkout != HERE
                mine += new if turn or part != "start" else []
    return found, is_whole


def table(found: dict[Path, list[Reading]]) -> list[str]:
    """A line a budget, and in it the columns of each checkout."""
    names = list(dict.fromkeys(each.name for mine in found.values() for each in mine))
    over = f"{'milliseconds':44}" + "".join(f"{checkout.name:>41}" for checkout in found)
    head = f"{'':36}{'budget':>8}" + f"{'wall':>9}{'worst':>9}{'CPU':>9}{'worst':>9}{'of':>5}" * len(found)
    return [over, head, *(_line(name, found) for name in names)]


def _line(name: str, found: dict[Path, list[Reading]]) -> str:
    budget_s = BUDGETS_S.get(name)
    line = f"{name:36}{f'{1e3 * budget_s:8.1f}' if budget_s else '       -'}"
    for mine in found.values():
        walls, cpus = ([getattr(r, of) for r in mine if r.name == name] for of in ("wall_s", "cpu_s"))
        if not walls:
            line += f"{'-':>41}"
            continue
        for figure in (statistics.median(walls), max(walls), statistics.median(cpus), max(cpus)):
            line += f"{1e3 * figure:9.1f}"
        line += f"{len(walls):5}"
    return line


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="another checkout, measured in turn with this one")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    checkouts = [*([options.against.resolve()] if options.against else []), HERE]
    found, is_whole = measured(checkouts, options.parts, options.repeats)
    print("\n".join(table(found)))
    over = {each.name for each in found[HERE] if each.wall_s > BUDGETS_S.get(each.name, each.wall_s)}
    if over:
        print(f"Over their budget here: {', '.join(sorted(over))}.")
    elif is_whole:
        print("Every budget is kept.")
    return 0 if is_whole and not over else 1


if __name__ == "__main__":
    sys.exit(main())
