"""Interpreters beside the tests' own, in which ``roofscope`` is this very checkout, installed or not."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]


def python(code: str) -> list[str]:
    """The command line that runs a piece of code. Its further arguments are ``sys.argv[1:]``."""
    bind = f"import runpy; runpy.run_path({str(ROOT / 'main.py')!r})"
    return [sys.executable, "-P", "-c", f"{bind}\n{code}"]


_EACH = """
import json, os, sys
from importlib import import_module
from roofscope.app.cli.commands import COMMANDS

main = runpy.run_path(sys.argv[1])["main"]
runs, codes = json.load(sys.stdin), []
for words, *_ in runs:
    if words[0] in COMMANDS:
        import_module("roofscope.app.cli." + words[0].replace("-", "_"))
for words, folder, out, err in runs:
    if not os.fork():
        os.chdir(folder)
        for descriptor, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
        sys.argv[1:] = words
        main()
        sys.exit()
    codes.append(os.waitstatus_to_exitcode(os.wait()[1]))
print(json.dumps(codes))
"""


def commands(runs: Mapping[str, tuple[Sequence[str], Path]]) -> dict[str, CompletedProcess[bytes]]:
    """What becomes of each command line in its folder, run by a fork of one process with the imports."""
    with TemporaryDirectory() as name:
        ends = [[str(Path(name, f"{number}.{end}")) for end in ("out", "err")] for number in range(len(runs))]
        told = [
            (list(words), str(cwd), *both) for (words, cwd), both in zip(runs.values(), ends, strict=True)
        ]
        done = subprocess.run(
            [*python(_EACH), str(ROOT / "main.py")],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            check=True,
        )
        return {
            key: CompletedProcess(words, code, *(Path(path).read_bytes() for path in both))
            for (key, (words, _)), code, both in zip(runs.items(), json.loads(done.stdout), ends, strict=True)
        }
