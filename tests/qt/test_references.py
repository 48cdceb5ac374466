"""The fault that doctor.check_window keeps away: void calls into Qt that lose a reference to None."""

import sys

from PySide6.QtGui import QPen


def test_void_calls_lose_no_reference_to_none() -> None:
    pen = QPen()
    before = sys.getrefcount(None)
    for width in range(1000):
        pen.setWidth(width)
    # Other threads and caches may take or drop a few; PySide6 6.12 on Python 3.11 drops all thousand.
    assert sys.getrefcount(None) > before - 100
