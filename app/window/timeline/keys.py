"""The keys of a timeline, as trace viewers have them."""

from typing import Protocol

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QKeyEvent

from roofscope.app.presentation.timeline.hits import Chosen
from roofscope.app.presentation.timeline.state import Timeline

Key = Qt.Key
_ZOOM = {Key.Key_W: 0.7, Key.Key_S: 1 / 0.7, Key.Key_Plus: 0.7, Key.Key_Minus: 1 / 0.7}
_PAN = {Key.Key_A: -0.15, Key.Key_D: 0.15}
_STEP = {Key.Key_Comma: -1, Key.Key_Period: 1, Key.Key_Left: -1, Key.Key_Right: 1}
_OTHER = (
    Key.Key_F, Key.Key_Up, Key.Key_Down, Key.Key_Home, Key.Key_Escape, Key.Key_Slash, Key.Key_N, Key.Key_M,
    Key.Key_BracketLeft, Key.Key_BracketRight, Key.Key_PageUp, Key.Key_PageDown,
)  # fmt: skip
_OURS = frozenset((*_ZOOM, *_PAN, *_STEP, *_OTHER))
_SHIFTED = frozenset((Key.Key_N, Key.Key_Plus, Key.Key_Slash))

KEYS = (
    ("W, S", "nearer, farther"),
    ("A, D", "to the left, to the right"),
    ("F", "fit the chosen slice or area; once more: all of it"),
    (", and .", "the slice before and after it in its lane"),
    ("Up, Down", "the slice round it, the first one in it"),
    ("[ and ]", "what launched it, what it launched"),
    ("/, N", "search, the next hit; Shift+N the one before"),
    ("M", "mark the time of the chosen slice, kept in the session"),
    ("Esc", "choose nothing"),
)


class Canvas(Protocol):
    """What keys move."""

    timeline: Timeline

    @property
    def plot(self) -> QRectF: ...
    @property
    def scrolled(self) -> float: ...
    def scroll_to(self, top: float) -> None: ...
    def bring_chosen(self) -> None: ...
    def ask_search(self) -> None: ...
    def ask_mark(self) -> None: ...
    def step(self, by: int) -> None: ...


def is_ours(event: QKeyEvent) -> bool:
    """Whether a timeline that has the keyboard takes the key from the window's shortcuts."""
    held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    if held == Qt.KeyboardModifier.ShiftModifier:
        return event.key() in _SHIFTED
    return held == Qt.KeyboardModifier.NoModifier and event.key() in _OURS


def obey(event: QKeyEvent, canvas: Canvas) -> bool:
    """Whether the key means something here; then it is done."""
    if not is_ours(event) or not canvas.timeline.tracks:
        return False
    timeline, key = canvas.timeline, Key(event.key())
    view = timeline.view
    if key in _ZOOM:
        timeline.look(view.zoomed(_ZOOM[key], _middle(timeline)))
    elif key in _PAN:
        timeline.look(view.panned(_PAN[key]))
    elif key in _STEP:
        _go(canvas, timeline.neighbour(_STEP[key]))
    else:
        _others(event, canvas, key)
    return True


def _others(event: QKeyEvent, canvas: Canvas, key: Key) -> None:
    timeline = canvas.timeline
    match key:
        case Key.Key_F:
            timeline.fit()
        case Key.Key_Up:
            _go(canvas, timeline.outer())
        case Key.Key_Down:
            _go(canvas, timeline.inner() or (None if timeline.chosen else timeline.neighbour(0)))
        case Key.Key_BracketLeft:
            _go(canvas, next(iter(timeline.sources()), None))
        case Key.Key_BracketRight:
            _go(canvas, next(iter(timeline.targets()), None))
        case Key.Key_Home:
            timeline.look(timeline.whole)
        case Key.Key_PageUp | Key.Key_PageDown:
            by = canvas.plot.height() * (1 if key is Key.Key_PageDown else -1)
            canvas.scroll_to(canvas.scrolled + by)
        case Key.Key_Slash:
            canvas.ask_search()
        case Key.Key_M:
            canvas.ask_mark()
        case Key.Key_N:
            canvas.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        case _:
            timeline.choose(None)


def _go(canvas: Canvas, chosen: Chosen | None) -> None:
    if chosen is not None:
        canvas.timeline.show(chosen)
        canvas.bring_chosen()


def _middle(timeline: Timeline) -> float:
    """Zooming keeps the chosen slice in its place where it is seen, else the middle."""
    view = timeline.view
    if timeline.chosen is not None:
        begin, end = timeline.span_of(timeline.chosen)
        if view.begin <= (begin + end) / 2 <= view.end:
            return (begin + end) / 2
    return view.begin + view.span / 2
