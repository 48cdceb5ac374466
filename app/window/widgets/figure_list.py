"""A list of names with figures beside them."""

from collections.abc import Sequence

from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeWidget


def as_figure_list(made: QTreeWidget, name: str, titles: Sequence[str]) -> None:
    """The names, which the first title is of, take what the figures leave."""
    made.setAccessibleName(name)
    made.setHeaderLabels(list(titles))
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    header = made.header()
    header.setStretchLastSection(False)
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    for column in range(1, len(titles)):
        header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
