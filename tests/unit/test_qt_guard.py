"""The guard against the PySide6 that crashes on Python 3.11."""

import sys
from importlib.metadata import version

import pytest

from app.qt_guard import problem


@pytest.mark.parametrize("pyside", ["6.12.0", "6.12.1", "6.13.0", "7.0.0"])
def test_refuses_what_crashes(pyside: str) -> None:
    sentence = problem(pyside, (3, 11))
    assert sentence is not None
    assert pyside in sentence
    assert "3.11" in sentence
    assert "Python 3.12" in sentence


@pytest.mark.parametrize(
    ("pyside", "python"),
    [("6.10.3", (3, 11)), ("6.11.3", (3, 11)), ("6.9.1", (3, 11)), ("6.12.0", (3, 12)), ("6.13.0", (3, 14))],
)
def test_lets_the_rest_through(pyside: str, python: tuple[int, int]) -> None:
    assert problem(pyside, python) is None


def test_what_is_installed_is_let_through() -> None:
    assert problem(version("pyside6-essentials"), sys.version_info[:2]) is None
