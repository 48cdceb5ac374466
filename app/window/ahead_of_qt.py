"""What the window needs besides Qt, imported first: PySide6 reads the source of all that comes after it.

It looks for its own name in each of five hundred files, which is a tenth of the start.
"""

from importlib import import_module

_MODULES = (
    "numpy",
    "roofscope.app.presentation.export",
    "roofscope.app.presentation.roofline.svg",
    "roofscope.app.presentation.run_facts",
    "roofscope.profiling.devices.discovery",
    "roofscope.profiling.doctor",
    "roofscope.profiling.planning.trust",
    "roofscope.profiling.results.session_writer",
    "roofscope.profiling.roofline.cache",
    "roofscope.profiling.supervision.fleet",
    "roofscope.profiling.supervision.headless",
    "roofscope.profiling.supervision.recorder",
    "roofscope.profiling.supervision.tracing",
)


def import_ahead_of_qt() -> None:
    for name in _MODULES:
        import_module(name)
