"""The tutorials' table: sizes along an axis down, implementations across."""

from typing import TYPE_CHECKING, Any

from roofscope.profiling.analysis.frame import SIZE

if TYPE_CHECKING:
    from pandas import DataFrame

# What a table has in common; fill and device only where there are several.
GROUP = ("kernel", "dtype", "fill", "regime", "device_uuid")
_WHERE_SEVERAL = ("fill", "device_uuid")


class PivotError(ValueError):
    """A table cannot be made; the text is one sentence for the user."""


def pivot(frame: "DataFrame", axis: str, value: str) -> "DataFrame":
    """One row a size, one column an implementation, for all kernels, types and regimes one below another.

    ``value`` names a column of the frame. Of several points of one workload and implementation the newest
    counts. Raises PivotError where no point with that axis was measured.
    """
    import pandas as pd

    wanted = f"{SIZE}{axis}"
    points: Any = frame  # pandas types only part of what follows
    sizes = [column for column in points.columns if column.startswith(SIZE)]
    if wanted not in sizes:
        known = ", ".join(column.removeprefix(SIZE) for column in sizes) or "none"
        raise PivotError(f"No point has an axis {axis!r}; the axes here are {known}.")
    timed = points[points["median_s"].notna() & points[wanted].notna()]
    if timed.empty:
        raise PivotError(f"No point with the axis {axis!r} was measured.")
    # Of several devices each has its own tables: a time of one says nothing of another.
    group = [name for name in GROUP if name not in _WHERE_SEVERAL or timed[name].nunique() > 1]
    tables = [_table(points, sizes, wanted, value, group) for _, points in timed.groupby(group, sort=False)]
    joined: Any = pd.concat(tables, ignore_index=True)
    others = [column for column in sizes if column in joined.columns and column != wanted]
    head = [*group, *others, wanted]
    return joined[[*head, *(column for column in joined.columns if column not in head)]]


def _table(points: Any, sizes: list[str], wanted: str, value: str, group: list[str]) -> Any:
    """Of one kernel, type, regime and device; columns in the order in which implementations came."""
    others = [column for column in sizes if column != wanted and points[column].notna().any()]
    head = [*group, *others, wanted]
    newest = points.drop_duplicates([*head, "implementation"], keep="last")
    table = newest.pivot(index=head, columns="implementation", values=value)
    return table[list(dict.fromkeys(points["implementation"]))].sort_index().reset_index()
