"""Which columns of the results are shown, in which order, and whether rows are grouped: the user's choice."""

from typing import Annotated

import msgspec
from msgspec import Struct

from roofscope.app.presentation.point_columns import COLUMNS

TITLES = tuple(column.title for column in COLUMNS)
# What few look for, or what another column says already.
HIDDEN_AT_FIRST = ("Max error", "Pays in a graph after", "Regime", "Device", "Status")

_Titles = Annotated[
    tuple[Annotated[str, msgspec.Meta(max_length=64)], ...], msgspec.Meta(max_length=len(TITLES) + 64)
]


class ColumnChoice(Struct, frozen=True):
    """By title, so that a column that comes or goes with another version moves no other."""

    hidden: _Titles = HIDDEN_AT_FIRST
    order: _Titles = ()  # from the left; columns that it does not name stand where they are by themselves
    is_grouped: bool = True
    asked: _Titles = ()  # for which the user asked, and which show though no point has anything in them

    def is_shown(self, column: int) -> bool:
        return TITLES[column] not in self.hidden

    def with_shown(self, column: int, is_shown: bool) -> "ColumnChoice":
        others = tuple(title for title in self.hidden if title != TITLES[column])
        asked = tuple(title for title in self.asked if title != TITLES[column])
        return msgspec.structs.replace(
            self,
            hidden=others if is_shown else (*others, TITLES[column]),
            asked=(*asked, TITLES[column]) if is_shown else asked,
        )

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns from the left."""
        named = [TITLES.index(title) for title in dict.fromkeys(self.order) if title in TITLES]
        ordered = list(range(len(TITLES)))
        for place, column in zip(sorted(named), named, strict=True):
            ordered[place] = column
        return tuple(ordered)
