"""A kernel from textbook to best: its steps, what each teaches, the lines that did it, and the exercise."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.formatting import MISSING, time_text
from roofscope.app.presentation.lesson.excerpt import sheet_of_excerpt
from roofscope.app.presentation.lesson.figures import StepView, StoryView, story_view
from roofscope.app.presentation.lesson.shelf import Shelf, Shelved, shelf_of
from roofscope.app.presentation.source.sheet import Sheet
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.background import Background
from roofscope.app.window.panes.lesson_text import LessonText
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.widgets.code_side import CodeSide
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.figure_list import as_figure_list
from roofscope.app.window.widgets.labels import as_pane, choice_box, placeholder, tip_text
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.results.session import Point

_EMPTY = "No kernel here has a lesson. A story.toml in a kernel's folder is one: see kernels/README.md."
_READING = "Reading the lessons..."
_NO_LINES = "This step names no lines."
_COLUMNS = ("Step", "Time", "Of roof")
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_WIDTHS = (350, 280, 350)  # names of steps are whole


class LessonPane(QWidget):
    """Reads in the background when it is in view. A step and its point are selected together."""

    problem = Signal(str)  # a sentence for a story that cannot be used

    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        background: Background,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self._model, self._selection, self._background = model, selection, background
        self._catalog: Catalog | None = None
        self._shelf: Shelf | None = None
        self._view: StoryView | None = None
        self._kernel = ""  # whose lesson is shown; "": the first that the session knows of
        self._asked = 0
        self._is_in_view, self._is_stale = False, True
        self._is_following = True  # the selected point, to its step; else the step that was chosen stays
        self.choice = choice_box("Lesson", "Whose lesson is shown")
        self.before = QPushButton("Back")
        self.next = QPushButton("Next lesson")
        self._promise = ElidedLabel("muted")
        self.steps = _step_list()
        self.text = LessonText()
        self.code = CodeSide("The lines that did it", theme)
        self._is_reading_lines = False
        self._empty = placeholder(_READING)
        self._body = QWidget()
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._body)
        self._arrange()
        self._connect()

    def set_theme(self, theme: Theme) -> None:
        self.code.view.set_theme(theme)

    def set_catalog(self, catalog: Catalog) -> None:
        """The kernels of today, whose stories are read when the pane is next seen."""
        self._catalog, self._shelf = catalog, None
        self._refresh()

    def set_in_view(self, in_view: bool) -> None:
        self._is_in_view = in_view
        if in_view and self._is_stale:
            self._refresh()

    @property
    def shown(self) -> StoryView | None:
        return self._view

    @property
    def is_reading(self) -> bool:
        """The story, or the lines of its step, which come a little later."""
        is_empty = self._stack.currentWidget() is self._empty
        return (is_empty and self._empty.text() == _READING) or self._is_reading_lines

    def _arrange(self) -> None:
        bar = QHBoxLayout()
        bar.setSpacing(8)
        bar.addWidget(self.choice)
        bar.addWidget(self._promise, 1)
        for button, tip in ((self.before, "The lesson before"), (self.next, "The lesson that follows")):
            button.setAccessibleName(tip)
            button.setToolTip(tip_text(tip))
            bar.addWidget(button)
        columns = QSplitter(Qt.Orientation.Horizontal)
        columns.setChildrenCollapsible(False)
        for each in (self.steps, self.text, self.code):
            columns.addWidget(each)
        columns.setSizes(list(_WIDTHS))
        for at, stretch in enumerate((5, 4, 5)):
            columns.setStretchFactor(at, stretch)
        column = QVBoxLayout(self._body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(bar)
        column.addWidget(columns, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 0)
        layout.addWidget(self._stack)

    def _connect(self) -> None:
        model = self._model
        for changed in (model.replaced, model.points_changed, model.ceilings_changed):
            changed.connect(self._refresh)
        model.point_added.connect(self._take_point)
        self._selection.changed.connect(self._follow)
        self.choice.activated.connect(lambda index: self.show_lesson(self._at(index)))
        self.before.clicked.connect(lambda: self._move(-1))
        self.next.clicked.connect(lambda: self._move(1))
        self.steps.currentItemChanged.connect(self._turn_by_hand)
        self.steps.itemClicked.connect(self._select)
        self.steps.itemActivated.connect(self._select)
        self.text.check_asked.connect(self._check)

    def show_lesson(self, kernel: str) -> None:
        """Turn to a kernel's lesson, at its first step."""
        if kernel:
            self._kernel = kernel
            self._refresh()

    def _move(self, by: int) -> None:
        index = self.choice.currentIndex() + by
        if 0 <= index < self.choice.count():
            self.show_lesson(self._at(index))

    def _at(self, index: int) -> str:
        return str(self.choice.itemData(index) or "")

    def _take_point(self, point: Point) -> None:
        if self._view and point.implementation.kernel == self._view.story.kernel:
            self._refresh()

    def _follow(self, _: int | None) -> None:
        """A point of a kernel with a story turns to it, and to its step."""
        point = self._selected()
        if point and (self._shelf is None or self._shelf.of(point.implementation.kernel)):
            self._kernel, self._is_following = point.implementation.kernel, True
            self._refresh()

    def _selected(self) -> Point | None:
        number = self._selection.number
        return self._model.point(number) if number is not None else None

    def _refresh(self) -> None:
        """Read in the background; what was asked for meanwhile is what is shown."""
        self._is_stale = True
        if not self._is_in_view or self._catalog is None:
            return
        self._is_stale = False
        self._asked += 1
        asked, catalog, known, session = self._asked, self._catalog, self._shelf, self._model.session
        wanted, selected = self._kernel, self._selected()

        def read() -> tuple[Shelf, StoryView | None]:
            shelf = known or shelf_of(catalog.kernels)
            in_session = {point.implementation.kernel for point in session.points}
            one = _chosen(shelf, wanted, in_session)
            return shelf, story_view(one.story, session, one.kernel, selected) if one else None

        def show(found: tuple[Shelf, StoryView | None]) -> None:
            if asked == self._asked:
                self._show(*found)

        self._background.ask(read, show)

    def _show(self, shelf: Shelf, view: StoryView | None) -> None:
        if shelf is not self._shelf:
            self._shelf = shelf
            self._fill_choice(shelf)
            for sentence in shelf.problems:
                self.problem.emit(sentence)
        before, self._view = self._view, view
        self._empty.setText(_EMPTY)
        self._stack.setCurrentWidget(self._body if view else self._empty)
        if view is None:
            return
        kept = self._row() if before and before.story == view.story else 0
        self._kernel = view.story.kernel
        number = shelf.number(view.story)
        self.choice.setCurrentIndex(number - 1)
        self.before.setEnabled(number > 1)
        self.next.setEnabled(number < len(shelf.stories))
        self._promise.set_text(view.story.promise)
        self._fill_steps(view, kept)

    def _fill_choice(self, shelf: Shelf) -> None:
        self.choice.clear()
        for number, one in enumerate(shelf.stories, 1):
            self.choice.addItem(f"{number}. {one.story.title} ({one.story.kernel})", one.story.kernel)

    def _fill_steps(self, view: StoryView, kept: int) -> None:
        self.steps.blockSignals(True)
        self.steps.clear()
        for step in view.steps:
            self.steps.addTopLevelItem(_step_item(step))
        self.steps.addTopLevelItem(QTreeWidgetItem(["Exercise", "", ""]))
        selected = self._selection.number
        rows = [row for row, step in enumerate(view.steps) if step.point and step.point.number == selected]
        row = rows[0] if rows and kept not in rows and self._is_following else kept
        self._is_following = False
        if item := self.steps.topLevelItem(min(row, len(view.steps))):
            self.steps.setCurrentItem(item)
        self.steps.blockSignals(False)
        self._turn()

    def _row(self) -> int:
        item = self.steps.currentItem()
        return self.steps.indexOfTopLevelItem(item) if item else 0

    def _step(self) -> StepView | None:
        """None where the exercise is."""
        row = self._row()
        return self._view.steps[row] if self._view and row < len(self._view.steps) else None

    def _turn_by_hand(self, *_: object) -> None:
        """What is asked for in the background goes by this choice, and no more by the selected point."""
        self._is_following = False
        self._turn()

    def _turn(self) -> None:
        """Show the current step, or the exercise."""
        view, step = self._view, self._step()
        if view is None:
            return
        if step is None:
            self.text.show_exercise(view)
        else:
            self.text.show_step(view, step)
        shown = step or _beginning(view)
        excerpt = shown.excerpt
        self._is_reading_lines = excerpt is not None
        if excerpt is None:
            self.code.show_content(_NO_LINES)
            return

        def show(sheet: Sheet) -> None:
            if self._view is view and (self._step() or _beginning(view)) is shown:
                self.code.show_content(sheet)
                self.code.view.go_to(excerpt.first - 1)
                self._is_reading_lines = False

        self._background.ask(lambda: sheet_of_excerpt(excerpt), show)

    def _select(self, *_: object) -> None:
        """Chosen by hand, a step selects its point in chart and table."""
        step = self._step()
        if step and step.point:
            self._selection.select(step.point.number)

    def _check(self) -> None:
        if self._view:
            found = self.text.check(self._view.story, self._model.session)
            if found.point is not None:
                self._selection.select(found.point)


def _chosen(shelf: Shelf, wanted: str, in_session: set[str]) -> Shelved | None:
    """The lesson asked for, else the first that the session has points of, else the first."""
    known = (one for one in shelf.stories if one.story.kernel in in_session)
    return shelf.of(wanted) or next(known, None) or next(iter(shelf.stories), None)


def _beginning(view: StoryView) -> StepView:
    """The step that the exercise begins with: beside the task its lines stand, and not the answer."""
    start = view.story.exercise.start
    return next((step for step in view.steps if step.step.implementation == start), view.steps[0])


def _step_item(step: StepView) -> QTreeWidgetItem:
    measured = step.point.measured if step.point else None
    time = time_text(measured.time.median_s if measured else None)
    title = f"{step.number}. {step.step.title}"
    item = QTreeWidgetItem([title, time, step.text("Of roof") or MISSING])
    for column in (1, 2):
        item.setTextAlignment(column, _RIGHT)
    tip = tip_text(f"{title}\n{step.label}: {step.note or step.text('Time')}")
    for column in range(item.columnCount()):
        item.setData(column, Qt.ItemDataRole.ToolTipRole, tip)
    return item


def _step_list() -> QTreeWidget:
    made = QTreeWidget()
    as_figure_list(made, "Steps of the lesson", _COLUMNS)
    return made
