"""The words round a sweep, the same on the screen, in files and for a screen reader."""

from roofscope.app.presentation.formatting import counted_text
from roofscope.app.presentation.roofline.caption import device_text
from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.app.presentation.sweep.scene import SweepScene
from roofscope.profiling.results.session import Session

WARNS = "!"  # beside a time that is not to be relied on
HIDDEN_TEXT = "Every line is switched off. Click one in the legend."


def title_text(scene: SweepScene, session: Session) -> str:
    """``softmax bf16 on NVIDIA H200``."""
    dtype = f" {scene.dtype.label}" if scene.dtype else ""
    device = f" on {device_text(session)}" if session.device else ""
    return f"{scene.kernel}{dtype}{device}" if scene.kernel else "Sweep"


def y_title(scene: SweepScene) -> str:
    return (
        f"Speed-up over {scene.baseline}"
        if scene.quantity is Quantity.SPEED_UP
        else scene.quantity.axis_title
    )


def x_title(scene: SweepScene) -> str:
    return scene.axis.title if scene.axis else ""


def note_text(scene: SweepScene) -> str:
    """What a reader must know beside the lines; "" where there is nothing."""
    gaps = sum(len(line.gaps) for line in scene.lines)
    rings = f"{counted_text(gaps, 'size')} without a time (rings at the axis)." if gaps else ""
    found = dict.fromkeys(word for line in scene.lines for dot in line.dots for word in dot.warnings)
    marks = f"{WARNS} marks {', '.join(found)}." if found else ""
    cut = "Some intervals reach beyond the picture." if scene.is_cut and not scene.is_empty else ""
    return " ".join(part for part in (marks, cut, rings, *_notes(scene)) if part)


def note_lines(scene: SweepScene) -> list[str]:
    """The same for a table, with the reason of each size without a time, or with one not to be relied on."""
    flagged = [
        f"{WARNS} {line.label} {dot.sizes}: {', '.join(dot.warnings)}."
        for line in scene.lines
        for dot in line.dots
        if dot.warns
    ]
    reasons = [f"{line.label} {gap.sizes}: {gap.reason}" for line in scene.lines for gap in line.gaps]
    return [*flagged, *reasons, *(note for note in _notes(scene) if note)]


def _notes(scene: SweepScene) -> tuple[str, ...]:
    return (
        scene.cache_note,
        f"{counted_text(scene.other_count, 'point')} at other sizes." if scene.other_count else "",
        f"Without a time here: {', '.join(scene.left_out)}." if scene.left_out else "",
    )


def method_text(scene: SweepScene) -> str:
    """What the lines and bands are."""
    of = "comparison" if scene.quantity is Quantity.SPEED_UP else "median time"
    return f"Median time of a call, caches cold; bands are 95 % intervals of the {of}"


def summary(scene: SweepScene, session: Session) -> str:
    """For a screen reader: what a glance tells."""
    if scene.is_empty:
        return scene.why_empty or HIDDEN_TEXT
    parts: list[str] = []
    for line in scene.lines:
        first, last = line.dots[0], line.dots[-1]
        ends = f"{scene.quantity.text(first.y)} at {first.sizes}"
        if last is not first:
            ends += f" to {scene.quantity.text(last.y)} at {last.sizes}"
        parts.append(f"{line.label} {ends}")
    return f"{title_text(scene, session)}, {y_title(scene)} over {x_title(scene)}: {'; '.join(parts)}."
