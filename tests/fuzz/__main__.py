"""Fuzzes what reads anything from outside, and prints a table.

    python3 main.py -m roofscope.tests.fuzz [TARGET ...] [--inputs N] [--seed N] [--seconds N]

An input is made of its seed alone: `SEED:TARGET:NUMBER`, which the table names for the first of each finding,
makes it again with `--seed SEED --first NUMBER --inputs 1`. The fuzzer guided by coverage is `guided` beside.
"""

import argparse
import sys

from roofscope.tests.fuzz.runner import in_processes, table
from roofscope.tests.fuzz.window import all_targets


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", help=", ".join(all_targets()))
    parser.add_argument("--inputs", type=int, help="each; the target's own count if none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="at most, each")
    given = parser.parse_args()
    tallies = []
    for name in given.targets or all_targets():
        count = given.inputs or all_targets()[name].count
        tallies.append(in_processes(name, given.seed, given.first, count, given.seconds))
        sys.stdout.write(table(tallies[-1:]) + "\n")
        sys.stdout.flush()
    return 0 if all(tally.is_clean and not tally.wrong for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
