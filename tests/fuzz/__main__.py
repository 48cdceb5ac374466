"""Fuzzes what reads anything from outside, and prints a table.

    python3 main.py -m roofscope.tests.fuzz [TARGET ...] [--inputs N] [--seed N] [--seconds N] [--processes N]

An input is made of its seed alone: `SEED:TARGET:NUMBER`, which the table names for the first of each finding,
makes it again with `--seed SEED --first NUMBER --inputs 1`. So the inputs are the same however many processes
share them, and `--first` gives another machine other ones. It needs neither pytest nor hypothesis, and no
screen. "Differing" are files that read with other figures without a word. The last lines sum up all targets.
The fuzzer guided by coverage is `guided` beside.
"""

import argparse
import sys

from roofscope.tests.fuzz.runner import in_shards, table
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
    parser.add_argument("--processes", type=int, default=1, help="that share the inputs of a target")
    given = parser.parse_args()
    tallies = []
    for name in given.targets or all_targets():
        count = given.inputs or all_targets()[name].count
        tallies.append(
            in_shards(name, given.seed, given.first, count, given.seconds, max(1, given.processes))
        )
        sys.stdout.write(table(tallies[-1:]) + "\n")
        sys.stdout.flush()
    sys.stdout.write("\n" + table(tallies, with_findings=False) + "\n")
    return 0 if all(tally.is_clean and not tally.wrong for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
