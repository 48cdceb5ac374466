"""Records the example sessions on one GPU: `assets/sessions/README.md` says what each is for.

    python3 main.py -m roofscope.benchmarks.sessions FOLDER [--part NAME ...] [--seconds 560]

A part is one session, by the commands below. FOLDER/done.txt names the commands that have ended; they are
left out, and none is begun after so many seconds, so that the same command goes on where it was ended.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from roofscope.profiling.paths import PACKAGE, SUFFIX
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import TOUR

_OUT = "OUT"  # stands for the session's file
_EVERY = ("--provider", "eager", "--provider", "compile", "--provider", "triton", "--provider", "cuda")
_BOTH = ("--dtype", "float32", "--dtype", "bfloat16")
_GELU = ("eager", "compile_default", "cuda_naive", "cuda_textbook", "cuda_sigmoid", "triton_textbook")
_STEMS = {
    "softmax": ("eager", "compile_default", "triton_online", "cuda_registers"),
    "gelu": ("eager", "compile_default", "triton_sigmoid", "cuda_sigmoid"),
    "matmul": ("eager", "compile_default", "triton_grouped", "cuda_wgmma"),
}
_SWEPT = {kernel: tuple(f"{kernel}/{stem}" for stem in stems) for kernel, stems in _STEMS.items()}


class Part(NamedTuple):
    """A session, and the command lines that record it."""

    name: str
    commands: tuple[tuple[str, ...], ...]


def parts() -> Iterator[Part]:
    """In the order of what a reader wants first."""
    kernels = scan().kernels
    stems = [part for stem in (*_GELU, "triton_sigmoid") for part in ("--implementation", stem)]
    tour = ("run", *TOUR, *_EVERY, "--provider", "library", *_BOTH, "--out", _OUT)
    traces = tuple(("trace", _OUT, one, "--dtype", "bfloat16") for one in _SWEPT["softmax"])
    yield Part("gelu", (("run", "gelu", *stems, *_BOTH, "--preset", "large", "--out", _OUT),))
    yield Part("tour", ((*tour, "--preset", "large"), *traces, (*tour, "--preset", "small")))
    hot = ("--dtype", "bfloat16", "--preset", "large", "--sustained", "--out", _OUT)
    yield Part("sustained", tuple(("run", *_SWEPT[name], *hot) for name in ("softmax", "matmul")))
    exact = ("--dtype", "bfloat16", "--preset", "large", "--exact", "--out", _OUT)  # energy too
    yield Part("exact", tuple(("run", *_SWEPT[name], *exact) for name in ("softmax", "matmul")))
    modes = [kernel.spec.name for kernel in kernels if kernel.spec.compares_modes]
    yield Part("modes", (("run", *modes, "--all-modes", "--preset", "large", "--out", _OUT),))
    yield Part("proofs", (("selftest", "--out", _OUT),))
    sweep = (*_BOTH, "--preset", "sweep", "--out", _OUT)
    yield Part("sweep", tuple(("run", *swept, *sweep) for swept in _SWEPT.values()))


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 where a command failed; its session stays, to be looked at."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", action="append", help="such as tour; all if none")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    chosen = parser.parse_args(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    began, failed = time.monotonic(), False
    ended = chosen.folder / "done.txt"
    for part in parts():
        path = chosen.folder / f"{part.name}{SUFFIX}"
        if chosen.part and part.name not in chosen.part:
            continue
        for command in part.commands:
            named = " ".join((part.name, *command))
            if named in (ended.read_text().splitlines() if ended.exists() else ()):
                continue
            if time.monotonic() - began > chosen.seconds:
                return int(failed)
            started = time.monotonic()
            code = _run(command, path)
            failed |= bool(code)
            if code in (0, 1):  # 1: some implementation failed; above, nothing was measured
                with ended.open("a") as done:
                    done.write(named + "\n")
            print(f"{named[:60]}: exit code {code}, {time.monotonic() - started:.0f} s", flush=True)
    return int(failed)


def _run(command: Sequence[str], path: Path) -> int:
    named = [str(path) if word == _OUT else word for word in command]
    if command[0] == "run" and path.exists():
        named.append("--append")
    return subprocess.run([sys.executable, "-P", str(PACKAGE / "main.py"), *named], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
