"""Sessions that earlier versions recorded on an H200: what is said of their figures is held to the letter."""

from pathlib import Path

from roofscope.profiling.paths import ASSETS

GELU = Path(__file__).parent / "data" / "sessions" / "h200-gelu.roofscope"  # of format 1


def recorded(name: str) -> Path:
    """The one kept for tests where a newer one is shipped under its name."""
    return GELU if name == GELU.stem else ASSETS / "sessions" / f"{name}.roofscope"
