"""Kernels and their implementations as a tree with check boxes."""

from collections.abc import Callable, Mapping
from enum import IntEnum

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from roofscope.app.presentation.search_text import implementation_text, is_found, spellings
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.plan import by_default, tour
from roofscope.profiling.planning.spec import Implementation

Index = QModelIndex | QPersistentModelIndex
Reasons = Callable[[Implementation], str]  # why an implementation cannot run; "" when it can

_DISPLAY = Qt.ItemDataRole.DisplayRole
_CHECK = Qt.ItemDataRole.CheckStateRole


class LibraryRole(IntEnum):
    IMPLEMENTATION = Qt.ItemDataRole.UserRole + 1
    REASON = Qt.ItemDataRole.UserRole + 2  # why it cannot run here; "" when it can
    SEARCH = Qt.ItemDataRole.UserRole + 3  # lower-case text that a search looks through
    PROVIDER = Qt.ItemDataRole.UserRole + 4


class LibraryModel(QAbstractItemModel):
    """Two levels: kernels, and under each its implementations.

    At first the kernels of the tour are ticked, with what a plan takes by default. That is also what a
    kernel's box ticks: libraries and further modes of torch.compile are ticked one by one. A tick is kept
    while an implementation cannot run, so that changing the device and back loses nothing; ``checked``
    leaves it out all the same.

    While a search hides implementations, a kernel's box shows and changes those that are seen: what a plan
    takes of them by default, or all where that is none.
    """

    checks_changed = Signal()

    def __init__(self, catalog: Catalog, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._catalog = catalog
        self._tour = _names_of_tour(catalog)
        self._ticks: dict[str, bool] = {}  # the user's own
        self._words: list[str] = []  # of the search
        self._found: dict[str, bool] = {}  # whether the search shows it, by key
        self._reason: Reasons = _always_runs

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return self._catalog.kernels

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    def set_catalog(self, catalog: Catalog) -> None:
        self.beginResetModel()
        self._catalog = catalog
        self._tour = _names_of_tour(catalog)
        self._search_again()
        self.endResetModel()
        self.checks_changed.emit()

    def set_reasons(self, reason: Reasons) -> None:
        """Tell which implementations cannot run on the chosen device, and why."""
        self._reason = reason
        self._everything_changed()

    def checked(self) -> dict[str, tuple[Implementation, ...]]:
        """Ticked implementations that can run, by kernel name."""
        return {
            kernel.spec.name: tuple(
                implementation
                for implementation in kernel.implementations
                if self._is_ticked(kernel, implementation) and not self._reason(implementation)
            )
            for kernel in self.kernels
        }

    def choose(self, kernel: Kernel) -> None:
        """Tick what a plan takes of one kernel, and nothing else."""
        self.set_all(False)
        self._ticks.update({found.key: by_default(kernel, found) for found in kernel.implementations})
        self._everything_changed()

    def set_all(self, ticked: bool) -> None:
        """Tick what a plan takes by default, or nothing, whatever the search shows."""
        for kernel in self.kernels:
            for implementation in kernel.implementations:
                self._ticks[implementation.key] = ticked and by_default(kernel, implementation)
        self._everything_changed()

    def set_shown(self, ticked: bool) -> None:
        """As a click on the box of each kernel that the search shows."""
        for kernel in self.kernels:
            self._tick_kernel(kernel, ticked)
        self._everything_changed()

    @property
    def own_ticks(self) -> dict[str, bool]:
        """What the user has ticked and unticked, by the names of implementations."""
        return dict(self._ticks)

    def restore(self, ticks: Mapping[str, bool]) -> None:
        """Ticks of before; those of this window go first."""
        if new := {key: ticked for key, ticked in ticks.items() if key not in self._ticks}:
            self._ticks.update(new)
            self._everything_changed()

    # The search

    def search(self, text: str) -> None:
        """Show the implementations that have every word, or all of a kernel that has them itself."""
        self._words = text.lower().split()
        self._search_again()
        for row in range(len(self.kernels)):
            self._kernel_changed(row)

    def is_found(self, implementation: Implementation) -> bool:
        return self._found.get(implementation.key, True)

    def is_kernel_found(self, kernel: Kernel) -> bool:
        """Whether any of it is, or the kernel itself, which may have no implementation."""
        return any(map(self.is_found, kernel.implementations)) or self._has_words(kernel)

    def hidden_ticks(self, kernel: Kernel) -> int:
        """Implementations that are ticked and that the search hides."""
        return sum(
            self._is_ticked(kernel, found) and not self.is_found(found) and not self._reason(found)
            for found in kernel.implementations
        )

    def _search_again(self) -> None:
        self._found = {
            found.key: self._has_words(kernel) or is_found(self._words, implementation_text(found))
            for kernel in (self.kernels if self._words else ())
            for found in kernel.implementations
        }

    def _has_words(self, kernel: Kernel) -> bool:
        return is_found(self._words, spellings(kernel.spec.name, kernel.spec.title))

    def _is_ticked(self, kernel: Kernel, implementation: Implementation) -> bool:
        at_first = kernel.spec.name in self._tour and by_default(kernel, implementation)
        return self._ticks.get(implementation.key, at_first)

    def _tick_kernel(self, kernel: Kernel, ticked: bool) -> None:
        shown = [found for found in kernel.implementations if self.is_found(found)]
        usual = {found.key for found in self._usual(kernel)}
        for implementation in shown:
            self._ticks[implementation.key] = ticked and implementation.key in usual

    def _usual(self, kernel: Kernel) -> list[Implementation]:
        """Of those that the search shows what a kernel's box ticks."""
        shown = [found for found in kernel.implementations if self.is_found(found)]
        usual = [found for found in shown if by_default(kernel, found)]
        return usual or (shown if self._words else [])

    def _everything_changed(self) -> None:
        for row in range(len(self.kernels)):
            self._kernel_changed(row)
        self.checks_changed.emit()

    def _kernel_changed(self, row: int) -> None:
        parent = self.index(row, 0)
        self.dataChanged.emit(parent, parent)
        last = self.rowCount(parent) - 1
        if last >= 0:
            self.dataChanged.emit(self.index(0, 0, parent), self.index(last, 0, parent))

    # QAbstractItemModel. The internal id is 0 for a kernel, else the kernel's row plus 1.

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, child: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        if not child.isValid() or child.internalId() == 0:
            return QModelIndex()
        return self.createIndex(child.internalId() - 1, 0, 0)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        if not parent.isValid():
            return len(self.kernels)
        if parent.internalId() == 0 and parent.column() == 0:
            return len(self.kernels[parent.row()].implementations)
        return 0

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 1

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable
        if index.internalId() == 0 or not self._reason(self._implementation(index)):
            flags |= Qt.ItemFlag.ItemIsEnabled
        return flags

    def data(self, index: Index, role: int = _DISPLAY) -> object:
        if not index.isValid():
            return None
        if index.internalId() == 0:
            return self._kernel_data(self.kernels[index.row()], role)
        return self._implementation_data(
            self.kernels[index.internalId() - 1], self._implementation(index), role
        )

    def setData(self, index: Index, value: object, role: int = _CHECK) -> bool:
        if role != _CHECK or not index.isValid():
            return False
        ticked = Qt.CheckState(value) == Qt.CheckState.Checked
        if index.internalId() == 0:
            row = index.row()
            self._tick_kernel(self.kernels[row], ticked)
        else:
            row = index.internalId() - 1
            self._ticks[self._implementation(index).key] = ticked
        self._kernel_changed(row)
        self.checks_changed.emit()
        return True

    def implementation_at(self, index: Index) -> Implementation | None:
        """None for a kernel's row and where there is none."""
        is_version = index.isValid() and index.internalId() and index.model() is self
        return self._implementation(index) if is_version else None

    def _implementation(self, index: Index) -> Implementation:
        return self.kernels[index.internalId() - 1].implementations[index.row()]

    def _kernel_data(self, kernel: Kernel, role: int) -> object:
        spec = kernel.spec
        match role:
            case Qt.ItemDataRole.DisplayRole:
                hidden = self.hidden_ticks(kernel)
                return f"{spec.name} (+{hidden} hidden)" if hidden else spec.name
            case Qt.ItemDataRole.ToolTipRole:
                axes = ", ".join(f"{axis.name} ({axis.meaning})" for axis in spec.axes)
                hidden = self.hidden_ticks(kernel)
                more = f"\nThe search hides {hidden} of it that stay ticked." if hidden else ""
                return tip_text(f"{spec.title}: {spec.formula}\nAxes: {axes}{more}")
            case Qt.ItemDataRole.CheckStateRole:
                return self._kernel_check(kernel)
            case LibraryRole.SEARCH:
                return spellings(spec.name, spec.title)
            case _:
                return None

    def _kernel_check(self, kernel: Kernel) -> Qt.CheckState:
        possible = [found for found in kernel.implementations if not self._reason(found)]
        possible = [found for found in possible if self.is_found(found)]
        if not any(self._is_ticked(kernel, found) for found in possible):
            return Qt.CheckState.Unchecked
        usual = [found for found in self._usual(kernel) if not self._reason(found)]
        is_whole = all(self._is_ticked(kernel, found) for found in usual)
        return Qt.CheckState.Checked if is_whole else Qt.CheckState.PartiallyChecked

    def _implementation_data(self, kernel: Kernel, implementation: Implementation, role: int) -> object:
        reason = self._reason(implementation)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return implementation.label
            case Qt.ItemDataRole.ToolTipRole:
                takes = f"; takes only {implementation.domain}" if implementation.domain else ""
                declares = "; ".join(one.choices_text for one in implementation.parameters)
                sets = f"\nParameters: {declares}" if declares else ""
                what = f"{implementation.key}: {implementation.provider.facts.meaning}{takes}{sets}"
                return tip_text(reason or what)
            case Qt.ItemDataRole.CheckStateRole:
                ticked = self._is_ticked(kernel, implementation) and not reason
                return Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked
            case LibraryRole.IMPLEMENTATION:
                return implementation
            case LibraryRole.REASON:
                return reason
            case LibraryRole.SEARCH:
                return implementation_text(implementation)
            case LibraryRole.PROVIDER:
                return implementation.provider
            case _:
                return None


def _always_runs(_: Implementation) -> str:
    return ""


def _names_of_tour(catalog: Catalog) -> frozenset[str]:
    return frozenset(kernel.spec.name for kernel in tour(catalog.kernels))
