"""The fixture ``roofscope``, which pytest finds by the package's entry point."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # imported where a test measures: every run of pytest loads this module
    from roofscope.app.notebook.result import Compared, Result


class Roofscope:
    """What a test measures with; a function that is wrong or has no time fails the test."""

    def measure(self, function: Callable[..., Any], *args: Any, **options: Any) -> "Result":
        """As ``roofscope.measure``; fails the test where the function has no time."""
        from roofscope.app.notebook.measuring import measure

        __tracebackhide__ = True
        options.setdefault("ceilings", False)
        result = measure(function, *args, **options)
        if not result.is_measured:
            pytest.fail(repr(result), pytrace=False)
        return result

    def compare(
        self, function: Callable[..., Any], baseline: Callable[..., Any], *args: Any, **options: Any
    ) -> "Compared":
        """As ``roofscope.compare``; fails the test where one of the two has no time."""
        from roofscope.app.notebook.measuring import compare

        __tracebackhide__ = True
        found = compare(function, baseline, *args, **options)
        if not (found.result.is_measured and found.baseline.is_measured):
            pytest.fail(repr(found), pytrace=False)
        return found

    def assert_faster(
        self,
        function: Callable[..., Any],
        baseline: Callable[..., Any],
        *args: Any,
        at_least: float = 1.0,
        **options: Any,
    ) -> "Compared":
        """Fail unless the whole interval of the ratio lies above ``at_least``."""
        __tracebackhide__ = True
        found = self.compare(function, baseline, *args, **options)
        found.assert_faster(at_least)
        return found

    def assert_not_slower(
        self,
        function: Callable[..., Any],
        baseline: Callable[..., Any],
        *args: Any,
        at_least: float = 1.0,
        **options: Any,
    ) -> "Compared":
        """Fail where the whole interval of the ratio lies below ``at_least``, such as 0.95."""
        __tracebackhide__ = True
        found = self.compare(function, baseline, *args, **options)
        found.assert_not_slower(at_least)
        return found


@pytest.fixture
def roofscope() -> Roofscope:
    """Measures functions and holds one against another, timed in turn, each in a process of its own."""
    return Roofscope()
