"""Refuses the pairs of PySide6 and Python that are known to crash, before Qt is loaded."""

# PySide6 6.12 drops a reference to None on each call that returns nothing. Python 3.12 made None immortal and
# survives it; Python 3.11 ends with "Fatal Python error: none_dealloc" after some thousands of calls.
_FIRST_UNSAFE_PYSIDE = (6, 12)
_FIRST_SAFE_PYTHON = (3, 12)


def problem(pyside_version: str, python_version: tuple[int, int]) -> str | None:
    """Says why this PySide6 cannot run on this Python and what to do, or None when it can.

    ``pyside_version`` is what the package metadata says, such as ``"6.11.3"``.
    """
    major, minor = (int(part) for part in pyside_version.split(".")[:2])
    if python_version >= _FIRST_SAFE_PYTHON or (major, minor) < _FIRST_UNSAFE_PYSIDE:
        return None
    python = ".".join(map(str, python_version))
    return (
        f"PySide6 {pyside_version} crashes on Python {python}: it loses references to None. "
        "Install pyside6-essentials older than 6.12, as pyproject.toml asks, or use Python 3.12 or later."
    )
