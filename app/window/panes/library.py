"""The library: what can be measured, with check boxes and a search."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.formatting import counted_text
from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.view_filter import hidden_implementations
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shown_points import ShownPoints
from roofscope.app.window.tables.library_model import LibraryModel, LibraryRole
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.icons import mark_size, provider_icon
from roofscope.app.window.widgets.labels import NothingFound, as_pane, label, tip_text
from roofscope.profiling.planning.spec import Implementation, Provider

_SHOWN = 3  # sentences below the tree
_MOST_IN_TIP = 20


class LibraryPane(QWidget):
    """A tree over the library model; below it, why some of it is grey."""

    current_changed = Signal()

    def __init__(self, model: LibraryModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        as_pane(self)
        self._model = model
        self._search = QLineEdit()
        self._search.setPlaceholderText("Search kernels")
        self._search.setAccessibleName("Search the library")
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._filter)
        self._delegate = _MarkDelegate(theme, self)
        self.tree = QTreeView()
        self.tree.setModel(model)
        self.tree.setItemDelegate(self._delegate)
        self.tree.setHeaderHidden(True)
        self.tree.setUniformRowHeights(True)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names of one family differ at their end
        self.tree.setIndentation(14)
        self.tree.setAccessibleName("Kernels and implementations")
        self._nothing = NothingFound("kernel", self._search.clear)
        self._all = _button(
            "All", "Tick what a plan takes by default, of what is shown", lambda: model.set_shown(True)
        )
        self._none = _button("None", "Untick what is shown", lambda: model.set_shown(False))
        self._count = ElidedLabel("muted")
        self._count.setAccessibleName("Implementations chosen")
        self._reasons = label("", "muted", wraps=True)
        self.tree.selectionModel().currentChanged.connect(lambda *_: self.current_changed.emit())
        self._arrange()
        model.modelReset.connect(self._show_all)
        model.checks_changed.connect(self._tell)
        self._show_all()
        self._tell()

    @property
    def current(self) -> Implementation | None:
        """The version that the tree's cursor is at."""
        return self._model.implementation_at(self.tree.currentIndex())

    def set_theme(self, theme: Theme) -> None:
        self._delegate.theme = theme
        self.tree.viewport().update()

    def share_filter(self, shown: ShownPoints, session: SessionModel) -> None:
        """Mute what the filter of chart and table hides; ticks stay as they are."""

        def follow() -> None:
            points = session.session.points
            self._delegate.is_hidden = hidden_implementations(shown.filter, points, shown.numbers)
            self.tree.viewport().update()

        shown.changed.connect(follow)

    def focus_search(self) -> None:
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    def _arrange(self) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(2)
        buttons.addWidget(self._count, 1)
        buttons.addWidget(self._all)
        buttons.addWidget(self._none)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self._search)
        layout.addLayout(buttons)
        layout.addWidget(self.tree, 1)
        layout.addWidget(self._nothing, 1)
        layout.addWidget(self._reasons)

    def _show_all(self) -> None:
        """Open the kernels that are chosen: forty of them, all open, hide each other."""
        for row in range(self._model.rowCount()):
            kernel = self._model.index(row, 0)
            ticked = kernel.data(Qt.ItemDataRole.CheckStateRole) != Qt.CheckState.Unchecked
            self.tree.setExpanded(kernel, ticked)
        self._filter(self._search.text())

    def _filter(self, text: str) -> None:
        """Show what the search finds, and open the kernels that it is in."""
        self._model.search(text)
        any_kernel = False
        for row, kernel in enumerate(self._model.kernels):
            parent = self._model.index(row, 0)
            found = [self._model.is_found(each) for each in kernel.implementations]
            for child, is_found in enumerate(found):
                self.tree.setRowHidden(child, parent, not is_found)
            is_shown = self._model.is_kernel_found(kernel)
            self.tree.setRowHidden(row, QModelIndex(), not is_shown)
            any_kernel = any_kernel or is_shown
            if text.strip() and any(found):
                self.tree.setExpanded(parent, True)
        is_empty = bool(text.strip()) and not any_kernel
        self._nothing.tell(text)
        self._nothing.setVisible(is_empty)
        self.tree.setHidden(is_empty)
        for button in (self._all, self._none):
            button.setEnabled(not is_empty)
        self._tell()

    def _tell(self) -> None:
        count = sum(len(found) for found in self._model.checked().values())
        total = sum(len(kernel.implementations) for kernel in self._model.kernels)
        hidden = sum(map(self._model.hidden_ticks, self._model.kernels))
        text = f"{count} chosen, {hidden} hidden" if hidden else f"{count} ticked"
        self._count.set_text(text if total else self._no_kernels)
        self._count.setToolTip(tip_text(_count_tip(count, total, hidden)))
        self._reasons.setText("\n".join([*self._distinct_reasons(), *self._problems()]))
        self._reasons.setVisible(bool(self._reasons.text()))
        problems = "\n".join(problem.message for problem in self._model.catalog.problems[:_MOST_IN_TIP])
        self._reasons.setToolTip(tip_text(problems))

    @property
    def _no_kernels(self) -> str:
        return "No kernels found" if self._model.catalog.folders else "Looking..."

    def _distinct_reasons(self) -> list[str]:
        reasons: dict[str, None] = {}
        for row in range(self._model.rowCount()):
            kernel = self._model.index(row, 0)
            for child in range(self._model.rowCount(kernel)):
                if reason := self._model.index(child, 0, kernel).data(LibraryRole.REASON):
                    reasons[reason] = None
        return list(reasons)[:_SHOWN]

    def _problems(self) -> list[str]:
        """The first ones; all of them are in the tool tip."""
        texts = [problem.message for problem in self._model.catalog.problems]
        more = f"and {len(texts) - _SHOWN} more problems" if len(texts) > _SHOWN + 1 else ""
        return [*texts[:_SHOWN], more] if more else texts


class _MarkDelegate(QStyledItemDelegate):
    """Puts the provider's mark of the chart before each implementation."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme
        self.is_hidden: Callable[[Implementation], bool] = lambda _: False

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        provider = index.data(LibraryRole.PROVIDER)  # Qt hands it over as a plain str
        if provider:
            option.icon = provider_icon(Provider(provider), self.theme)  # type: ignore[attr-defined]
            option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration  # type: ignore[attr-defined]
            side = mark_size(option)
            option.decorationSize = QSize(side, side)  # type: ignore[attr-defined]
            if self.is_hidden(index.data(LibraryRole.IMPLEMENTATION)):
                _mute(option, self.theme)
        else:
            children = (index.model().index(row, 0, index) for row in range(index.model().rowCount(index)))
            if all(self.is_hidden(child.data(LibraryRole.IMPLEMENTATION)) for child in children):
                _mute(option, self.theme)
            else:
                option.font.setBold(True)  # type: ignore[attr-defined]


def _mute(option: QStyleOptionViewItem, theme: Theme) -> None:
    """For what the filter hides."""
    for role in (QPalette.ColorRole.Text, QPalette.ColorRole.HighlightedText):
        option.palette.setColor(role, QColor(theme.text_muted))  # type: ignore[attr-defined]


def _count_tip(count: int, total: int, hidden: int) -> str:
    """How implementations become points, of which the plan counts more or fewer."""
    points = "Run measures a point for each at every data type and size of the plan"
    lines = [
        f"{counted_text(count, 'implementation')} of {total} ticked.",
        f"{points}, but none where the implementation or its kernel does not take them.",
    ]
    if hidden:
        lines.insert(1, f"The search hides {hidden} of them, which stay ticked.")
    return "\n".join(lines)


def _button(text: str, tip: str, act: object) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip_text(tip))
    button.setAccessibleName(tip)
    button.clicked.connect(act)
    return button
