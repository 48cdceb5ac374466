"""The readers of bytes under a fuzzer that is guided by coverage: atheris, in an environment of its own.

    export PYTHONPATH=.venv/lib/python3.11/site-packages
    FUZZENV/bin/python -P main.py -m roofscope.tests.fuzz.guided TARGET [--runs N] [--seed N]

`FUZZENV` is a virtual environment with atheris, which no test needs. The first input that ends in an unnamed
exception, or takes longer than 5 s, ends the run and lies in the working folder.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris  # type: ignore[import-not-found] - of the other environment

with atheris.instrument_imports(include=["roofscope.profiling", "roofscope.app"]):
    from roofscope.tests.fuzz import targets, timelines, window


def _feeders() -> dict[str, tuple[bytes, Callable[[bytes], str]]]:
    """A good input, and what reads it."""
    every = window.all_targets()
    return {
        "lines": (targets.messages(), lambda data: every["lines"].feed((data, 4096))),
        "traces": (targets.trace(), lambda data: every["traces"].feed(targets.packed(data))),
        "timelines": (timelines.recorded_traces()[0], every["timelines"].feed),
        "ceilings": (targets.kept_ceilings(), every["ceilings"].feed),
        "specs": (targets.spec(), every["specs"].feed),
        "settings": (window.good_settings(), every["settings"].feed),
        "session bytes": (targets.good_bytes(), lambda data: every["session bytes"].feed(data) and ""),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=list(_feeders()))
    parser.add_argument("--runs", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    good, feed = _feeders()[given.target]
    corpus = Path(tempfile.mkdtemp(prefix="roofscope-fuzz-"))
    corpus.joinpath("good").write_bytes(good)

    def one(data: bytes) -> None:
        if wrong := feed(data):
            raise AssertionError(wrong)

    options = [f"-runs={given.runs}", f"-seed={given.seed}", "-timeout=5", f"-max_len={2 * len(good) + 100}"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
