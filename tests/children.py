"""Interpreters beside the tests' own, in which ``roofscope`` is this very checkout, installed or not."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def python(code: str) -> list[str]:
    """The command line that runs a piece of code. Its further arguments are ``sys.argv[1:]``."""
    bind = f"import runpy; runpy.run_path({str(ROOT / 'main.py')!r})"
    return [sys.executable, "-P", "-c", f"{bind}\n{code}"]
