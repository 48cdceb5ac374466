"""What thousands of points share is found once. These tests count work; how long it takes is for benchmarks."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results import session as session_module
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    """Grows by one with each call of a function of a module or class."""
    calls: list[None] = []
    plain: Callable[..., Any] = getattr(owner, name)

    def counting(*args: Any, **named: Any) -> Any:
        calls.append(None)
        return plain(*args, **named)

    monkeypatch.setattr(owner, name, counting)
    return calls


def example() -> Session:
    return load(ASSETS / "sessions" / "h200.roofscope")


def test_all_points_of_an_origin_share_its_roofline(monkeypatch: pytest.MonkeyPatch) -> None:
    session = example()
    made = counted(monkeypatch, session_module, "_newest")
    for point in session.points:
        verdict(point, session)
    assert len(made) == len({point.origin for point in session.points}) < len(session.points)


def test_a_roofline_that_was_found_follows_its_session() -> None:
    session = example()
    point = next(point for point in session.points if point.measured and verdict(point, session).limiter)
    before = verdict(point, session)
    session.ceilings = tuple(msgspec.structs.replace(c, value=c.value / 2) for c in session.ceilings)
    after = verdict(point, session)
    assert before.fraction_of_roof and after.fraction_of_roof == pytest.approx(2 * before.fraction_of_roof)
    session.ceilings = ()
    assert verdict(point, session).limiter is None
    assert not session.roofline.ceilings
