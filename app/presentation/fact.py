"""Named values in sections, and bars that show where a reading lies: what the details pane is made of."""

from msgspec import Struct

from roofscope.app.presentation.formatting import MISSING


class Fact(Struct, frozen=True):
    name: str
    value: str
    tip: str = ""


class Gauge(Struct, frozen=True):
    """A reading as a share of what the device can: the band from ``low`` to ``high``, ``middle`` a line."""

    name: str
    text: str
    low: float
    middle: float
    high: float
    tip: str = ""


class Section(Struct, frozen=True):
    title: str
    facts: tuple[Fact, ...]
    gauges: tuple[Gauge, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.facts and not self.gauges


def section(title: str, *facts: Fact, gauges: tuple[Gauge, ...] = ()) -> Section:
    """A section of those facts that have something to say."""
    return Section(title, tuple(fact for fact in facts if fact.value not in ("", MISSING)), gauges)
