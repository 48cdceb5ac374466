"""The selected point's source beside another one's, how they differ, and what compilers made of them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QPushButton,
    QScrollBar,
    QSplitter,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.source.generated import code_of
from roofscope.app.presentation.source.lesson import Lesson, lesson_of
from roofscope.app.presentation.source.others import Other, others_of
from roofscope.app.presentation.source.pages import Page, Spread, pages_of, spread_of
from roofscope.app.presentation.source.sheet import Sheet
from roofscope.app.presentation.source.texts import files_of
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.background import Background
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.widgets.code_search import CodeSearch
from roofscope.app.window.widgets.code_side import CodeSide
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.folded_text import FoldedText
from roofscope.app.window.widgets.labels import as_pane, choice_box, placeholder, tip_text
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.generated import CodeKind
from roofscope.profiling.results.session import Point, Session

_EMPTY = "Select a point in the chart or a row in the results to see its source."
_ALONE = "Nothing beside it"
_READING = "Reading the source..."
_MOST_KEPT = 12  # pages that were laid out are kept, the newest


class _Asked(NamedTuple):
    """What is shown: a page of a point, beside another one, by their numbers."""

    page: Page
    point: int
    other: int | None


def _laid_out(session: Session, page: Page, point: Point, other: Point | None) -> Spread:
    """As ``spread_of``; a text that cannot be laid out is one sentence in its place."""
    try:
        return spread_of(session, page, point, other)
    except Exception as error:  # noqa: BLE001 - texts are hostile, and lexers are other people's
        return Spread(f"This page cannot be shown: {type(error).__name__}: {error}")


class SourcePane(QWidget):
    """Lays a page out in the background when it is in view; both halves scroll together."""

    open_asked = Signal(object)  # Path

    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        background: Background,
        own_files: Callable[[Point], Sequence[Path]],
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        """``own_files``: where a point's files lie on this machine; empty where they do not."""
        super().__init__(parent)
        as_pane(self)
        self._model = model
        self._selection = selection
        self._background = background
        self._own_files = own_files
        self._point: Point | None = None
        self._others: tuple[Other, ...] = ()
        self._kinds: tuple[CodeKind, ...] = ()
        self._asked: _Asked | None = None
        self._kept: dict[_Asked, Spread] = {}
        self._is_in_view = False
        self._wanted_line: tuple[str, int] | None = None
        self._is_following = False
        self._wants_other = True  # until the user wants nothing beside it
        self.tabs = QTabBar()
        self.tabs.setAccessibleName("What is shown of the source")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.other_box = choice_box("Compare the source with", "What stands beside the source")
        self.other_box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.other_box.setMinimumContentsLength(16)
        self._title = ElidedLabel("muted")
        self.open_button = QPushButton("Open in editor")
        self.open_button.setAccessibleName("Open in editor")
        self.next_button = QPushButton("Next change")
        self.next_button.setAccessibleName("Next change")
        self.next_button.setToolTip("Go to the next line that differs, or that failed (Alt+Down)")
        keys = QShortcut(QKeySequence("Alt+Down"), self, self.go_to_next_change)
        keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)  # another pane has its own use for it
        self.lesson = FoldedText("Lesson")
        self.left, self.right = CodeSide("Source", theme), CodeSide("Source beside it", theme)
        self.search = CodeSearch((self.left.view, self.right.view), theme)
        self._empty = placeholder(_EMPTY)
        self._body = QWidget()
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._body)
        self._arrange()
        self._connect()
        self._refresh()

    def set_theme(self, theme: Theme) -> None:
        for side in (self.left, self.right):
            side.view.set_theme(theme)
        self.search.set_theme(theme)

    @property
    def page(self) -> Page:
        index = self.tabs.currentIndex()
        return Page(self.tabs.tabText(index)) if index >= 0 else Page.SOURCE

    def show_page(self, page: Page) -> None:
        """Turn to a page, if the point has it."""
        for index in range(self.tabs.count()):
            if self.tabs.tabText(index) == page:
                self.tabs.setCurrentIndex(index)

    def _arrange(self) -> None:
        bar = QHBoxLayout()
        bar.setSpacing(8)
        bar.addWidget(self.tabs)
        bar.addWidget(self._title, 1)
        bar.addWidget(self.other_box)
        second = QHBoxLayout()
        second.setSpacing(8)
        second.addWidget(self.lesson, 1)
        for button in (self.next_button, self.open_button):
            second.addWidget(button, 0, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
        halves = QSplitter(Qt.Orientation.Horizontal)
        halves.setChildrenCollapsible(False)
        halves.addWidget(self.left)
        halves.addWidget(self.right)
        halves.setSizes([1000, 1000])
        column = QVBoxLayout(self._body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(bar)
        column.addLayout(second)
        column.addWidget(self.search)
        column.addWidget(halves, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 0)
        layout.addWidget(self._stack)

    def _connect(self) -> None:
        self._selection.changed.connect(self._refresh)
        self._model.point_added.connect(self._take_point)
        self._model.code_added.connect(self._forget)
        self._model.replaced.connect(self._forget)
        self._model.points_changed.connect(self._refresh)
        self.tabs.currentChanged.connect(self._turn)
        self.other_box.activated.connect(self._choose_other)
        self.open_button.clicked.connect(self._open)
        self.next_button.clicked.connect(self.go_to_next_change)
        for one, other in ((self.left.view, self.right.view), (self.right.view, self.left.view)):
            self._follow(one.verticalScrollBar(), other.verticalScrollBar())
            self._follow(one.horizontalScrollBar(), other.horizontalScrollBar())
            one.search_asked.connect(self.search.begin)

    def _follow(self, bar: QScrollBar, other: QScrollBar) -> None:
        """Move the other bar with this one, which the end of a shorter text does not hold back."""

        def moved(value: int) -> None:
            if not self._is_following:
                self._is_following = True
                other.setValue(value)
                self._is_following = False

        bar.valueChanged.connect(moved)

    def set_in_view(self, in_view: bool) -> None:
        """Whether its tab is in front: what nobody sees is not looked for."""
        self._is_in_view = in_view
        self._refresh()
        self._turn()

    def _take_point(self, point: Point) -> None:
        """Another one to compare with; most points are of other kernels."""
        if self._point and point.implementation.kernel == self._point.implementation.kernel:
            self._refresh()

    def _choose_other(self, index: int) -> None:
        self._wants_other = index > 0
        self._turn()

    def _forget(self) -> None:
        self._kept.clear()
        self._point, self._asked = None, None
        self._refresh()

    def _refresh(self) -> None:
        if not self._is_in_view:
            return
        number = self._selection.number
        point = self._model.point(number) if number is not None else None
        others = others_of(self._model.session, point) if point else ()
        if (point, others) == (self._point, self._others):
            return
        chosen = self._other()
        if point and code_of(self._model.session, point) is None:
            self._kinds = ()  # else those of the point before, until its own are known
        self._point, self._others = point, others
        self._fill_others(chosen)
        self._fill_tabs()
        if point:
            self._tell(point)
        self._stack.setCurrentWidget(self._body if point else self._empty)
        self._turn()

    def _tell(self, point: Point) -> None:
        self._title.set_text(f"{point.implementation.title}, {point.job.workload.dtype.label}")
        files = self._own_files(point)
        self.open_button.setEnabled(bool(files))
        words = f"Open {files[0]}" if files else "Its files are not on this machine"
        self.open_button.setToolTip(tip_text(words))
        session = self._model.session

        def read() -> Lesson:
            return lesson_of(files_of(session, point))

        def show(found: Lesson) -> None:
            if point == self._point:
                self.lesson.show_paragraphs(found.paragraphs)

        self._background.ask(read, show)

    def _other(self) -> Point | None:
        index = self.other_box.currentIndex() - 1
        return self._others[index].point if 0 <= index < len(self._others) else None

    def _fill_others(self, chosen: Point | None) -> None:
        """Keep what the user chose: the very files, else the implementation of that name, else the first."""
        self.other_box.clear()
        self.other_box.addItems([_ALONE, *(one_line(other.label) for other in self._others)])
        self.other_box.setEnabled(bool(self._others))
        if not (self._wants_other and self._others):
            return
        found = [other.point.implementation for other in self._others]
        names = [implementation.name for implementation in found]
        if chosen and chosen.implementation in found:
            index = found.index(chosen.implementation)
        else:
            name = chosen.implementation.name if chosen else ""
            index = names.index(name) if name in names else 0
        self.other_box.setCurrentIndex(index + 1)

    def _fill_tabs(self) -> None:
        pages = pages_of(self._kinds, has_other=self._other() is not None)
        if [self.tabs.tabText(index) for index in range(self.tabs.count())] == list(pages):
            return
        page = self.page
        self.tabs.blockSignals(True)
        while self.tabs.count():
            self.tabs.removeTab(0)
        for each in pages:
            self.tabs.addTab(each)
        self.tabs.setCurrentIndex(pages.index(page) if page in pages else 0)
        self.tabs.blockSignals(False)

    def _turn(self) -> None:
        """Show the page chosen; what is not known yet is laid out in the background."""
        if self._point is None or not self._is_in_view:
            return
        self._fill_tabs()
        point, other = self._point, self._other()
        asked = _Asked(self.page, point.number, other.number if other else None)
        if asked == self._asked:
            return
        self._asked = asked
        if known := self._kept.get(asked):
            self._show(asked, known)
            return
        session = self._model.session
        for side in (self.left, self.right):
            side.show_content(_READING)
        self._background.ask(
            lambda: _laid_out(session, asked.page, point, other), lambda found: self._show(asked, found)
        )

    def _show(self, asked: _Asked, found: Spread) -> None:
        if asked != self._asked:
            return  # another one was chosen meanwhile
        self._kept[asked] = found
        for old in list(self._kept)[:-_MOST_KEPT]:
            del self._kept[old]
        self.right.setVisible(found.right is not None)
        self.left.show_content(found.left)
        # Each half by itself: ten thousand lines take a third of what the eye notices.
        QTimer.singleShot(0, self, lambda: self._show_right(asked, found))

    def _show_right(self, asked: _Asked, found: Spread) -> None:
        if asked != self._asked:
            return
        if found.right is not None:
            self.right.show_content(found.right)
        has_changes = any(sheet.changes for sheet in self._sheets())
        self.next_button.setEnabled(has_changes)
        is_same = asked.page == Page.DIFFERENCE and not has_changes
        self.next_button.setText("No difference" if is_same else "Next change")
        self.search.renew()
        self._go_to_wanted()
        if self._kinds != found.kinds:
            self._kinds = found.kinds
            self._turn()

    def _sheets(self) -> list[Sheet]:
        return [side.sheet for side in (self.left, self.right) if side.sheet and not side.isHidden()]

    def go_to_next_change(self) -> None:
        """Behind the line that the cursor is at; after the last one comes the first again."""
        found = sorted({index for sheet in self._sheets() for index in sheet.changes})
        if not found:
            return
        here = self.left.view.textCursor().blockNumber()
        index = next((index for index in found if index > here), found[0])
        for side in (self.right, self.left):
            if side.sheet and not side.isHidden():
                side.view.go_to(index)

    def show_line(self, key: str, name: str, number: int) -> bool:
        """Go to a line as soon as it is laid out; whether the selected point is of this implementation.

        ``key`` as of ``Implementation.key``, and ``name`` of one of its files.
        """
        selected = self._selection.number
        point = self._model.point(selected) if selected is not None else None
        if point is None or point.implementation.key != key:
            return False
        if name not in [file.name for file in files_of(self._model.session, point)]:
            return False
        self._wanted_line = name, number
        self.show_page(Page.SOURCE)
        self._go_to_wanted()
        return True

    def _go_to_wanted(self) -> None:
        sheet = self.left.sheet
        if self._wanted_line is None or sheet is None or self.page is not Page.SOURCE or self._point is None:
            return
        name, number = self._wanted_line
        names = [file.name for file in files_of(self._model.session, self._point)]
        index = sheet.index_of(name, number, names)
        if index is not None:
            self._wanted_line = None
            self.left.view.go_to(index)

    def _open(self) -> None:
        files = self._own_files(self._point) if self._point else ()
        if files:
            self.open_asked.emit(files[0])
