"""Where the program's own files lie, and where it keeps those of the user."""

import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent  # the checkout, or `roofscope` among the installed packages


def module_command(module: str) -> tuple[str, ...]:
    """The command line that runs a module of this very package, whether or not anybody installed it."""
    # -P: the folder of main.py must not come first on the path of what may import Python's own `profiling`.
    return (sys.executable, "-P", str(PACKAGE / "main.py"), "-m", module)
