"""What Roofscope is, what it stands on and under which licences, and where it runs."""

import platform
import sys

from msgspec import Struct

from roofscope import __version__
from roofscope.profiling.devices.host import package_version
from roofscope.profiling.providers import Provider

SENTENCE = "Roofscope measures CUDA, Triton, eager and compiled versions of a kernel on a measured roofline."
LICENCE = "MIT licence"


class Used(Struct, frozen=True):
    """Something that the program uses. ``version`` is "" where it is not here."""

    name: str
    licence: str
    version: str = ""
    why: str = ""


# Name for people, of the package, licence as SPDX writes it, what for.
_PACKAGES = (
    ("Qt for Python (PySide6)", "pyside6-essentials", "LGPL-3.0-only", "the window"),
    ("pyqtgraph", "pyqtgraph", "MIT", "the chart"),
    ("NumPy", "numpy", "BSD-3-Clause", "numbers"),
    ("pandas", "pandas", "BSD-3-Clause", "frames of results"),
    ("msgspec", "msgspec", "BSD-3-Clause", "files and messages"),
    ("nvidia-ml-py", "nvidia-ml-py", "BSD-3-Clause", "what the driver says"),
    ("psutil", "psutil", "BSD-3-Clause", "processes"),
    ("platformdirs", "platformdirs", "MIT", "where files lie"),
    ("Rich", "rich", "MIT", "the terminal"),
    ("Typer", "typer", "MIT", "the command line"),
    ("Jinja", "jinja2", "BSD-3-Clause", "reports"),
    ("Pygments", "pygments", "BSD-2-Clause", "colours of code"),
    ("PyTorch", "torch", "BSD-3-Clause", "the worker"),
    *(
        (package.name, package.distribution, package.licence, f"{provider.facts.name} versions")
        for provider in Provider
        for package in provider.facts.packages
    ),
)
_SHIPPED = (Used("Lucide icons", "ISC", why="shipped with the program"),)


def used() -> tuple[Used, ...]:
    """What is shipped, then the packages, also those that are not here."""
    packages = (
        Used(name, licence, package_version(package) or "", why) for name, package, licence, why in _PACKAGES
    )
    return (*_SHIPPED, *packages)


def machine_text() -> str:
    """Python and the system."""
    return f"Python {platform.python_version()} on {platform.system()} {platform.release()} ({sys.platform})"


def about_text() -> str:
    """All of it in plain lines, for a report of a fault."""
    lines = [f"Roofscope {__version__}, {LICENCE}", machine_text()]
    here = [one for one in used() if one.version or one in _SHIPPED]
    lines += [f"{f'{one.name} {one.version}'.rstrip()}, {one.licence}" for one in here]
    return "\n".join(lines) + "\n"
