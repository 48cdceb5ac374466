"""Roofscope. Without arguments the window opens; `main.py --help` lists the commands.

It is also the way into a checkout that nobody installed: it makes the folder that it lies in the package
`roofscope`, whatever the folder is called. `main.py -m MODULE` runs one of its modules, as `python -m` does.
"""

import importlib.util
import runpy
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def make_importable() -> None:
    """Let ``import roofscope`` give this folder, and nothing else import from it.

    Python puts a script's folder first on its path. From there our `profiling` would hide the package of
    that name which Python 3.15 has (PEP 799).
    """
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
    if "roofscope" in sys.modules:
        return
    found = importlib.util.spec_from_file_location(
        "roofscope", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert found is not None
    assert found.loader is not None
    package = importlib.util.module_from_spec(found)
    sys.modules["roofscope"] = package
    found.loader.exec_module(package)


make_importable()


def main() -> None:
    """The command line, or with no arguments the window."""
    if sys.argv[1:2] == ["-m"]:
        del sys.argv[:2]
        if not sys.argv:
            sys.exit("main.py -m takes the name of a module, such as roofscope.benchmarks.peers.")
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    # Ctrl+C while the imports run, some 0.3 s, ends the program as it ends any other: without a traceback.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # nohup and its like have it ignored, which stays so
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    from roofscope.app.cli.commands import cli
    from roofscope.app.cli.output import take_over_stdio

    take_over_stdio()
    signal.signal(signal.SIGINT, handler)
    # As it is installed, whatever the file is called that was run: completion knows a command by its name.
    cli(prog_name="roofscope")


if __name__ == "__main__":
    main()
