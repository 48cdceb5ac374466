"""Sessions that earlier versions recorded on an H200: what is said of their figures is held to the letter."""

from pathlib import Path

from roofscope.profiling.paths import ASSETS

_HERE = Path(__file__).parent / "data" / "sessions"
GELU = _HERE / "h200-gelu.roofscope"  # of format 1
TOUR = _HERE / "h200-tour.roofscope"  # of format 1, with float16 too


def kept(name: str) -> Path:
    """What is shipped; of the tour the one kept for tests, which no new recording changes."""
    return TOUR if name == TOUR.stem else ASSETS / "sessions" / f"{name}.roofscope"


def recorded(name: str) -> Path:
    """The one kept for tests where a newer one is shipped under its name."""
    return GELU if name == GELU.stem else kept(name)
