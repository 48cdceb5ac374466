"""What a reader had to leave out of a trace or mend, in words."""

from roofscope.app.presentation.formatting import counted_text
from roofscope.profiling.traces.columns import Health


def health_text(health: Health) -> str:
    """What could not be read, as one sentence; "" for a sound file."""
    said = [
        f"{counted_text(health.dropped, 'event')} could not be read" if health.dropped else "",
        f"{counted_text(health.repaired, 'event')} had to be mended" if health.repaired else "",
        "the file is cut off in the middle" if health.is_cut else "",
    ]
    whole = ", ".join(filter(None, said))
    return f"{whole[0].upper()}{whole[1:]}." if whole else ""
