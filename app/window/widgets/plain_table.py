"""How a table of results looks: rows, and nothing that is not data."""

from PySide6.QtWidgets import QAbstractItemView, QTableView


def make_plain(view: QTableView) -> None:
    """Rows of one line, chosen as a whole, without grid and numbers; Tab leaves the table."""
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.verticalHeader().hide()
    view.verticalHeader().setDefaultSectionSize(view.fontMetrics().height() + 10)
