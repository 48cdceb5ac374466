"""Points as a table of pandas, one row a point. Only here and beside is pandas imported, when asked."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from roofscope.profiling.analysis.flatten import point_records
from roofscope.profiling.analysis.point_record import PointRecord
from roofscope.profiling.planning.parameters import Value, value_text
from roofscope.profiling.planning.spec import size_text
from roofscope.profiling.results.session import Session

if TYPE_CHECKING:
    from pandas import DataFrame

# A size, a label and a parameter have a prefix: an axis may be called "device", a label "kernel".
SIZE, LABEL, SET = "size_", "label_", "set_"


# Of pandas, by a field's type. What may be unknown has one that can say so and changes no figure.
_DTYPES: dict[Any, str] = {
    int: "int64",
    int | None: "Int64",
    float | None: "float64",
    int | float | None: "float64",
    bool: "bool",
    bool | None: "boolean",
    str: "string",
    str | None: "string",
    dict[str, int]: "string",  # sizes, as one text
    dict[str, Value]: "string",  # parameters, likewise
}
DTYPES = {
    field.name: _DTYPES[field.type]
    for field in msgspec.structs.fields(PointRecord)
    if field.name != "samples_s"  # many in a point
}
COLUMNS = tuple(DTYPES)  # which every frame has; axes and labels follow


def make_frame(sessions: Iterable[Session]) -> "DataFrame":
    """One row a point of these sessions, failures included; samples are left to the JSON export.

    ``size_<axis>`` for each axis that a point has, ``set_<name>`` for each parameter and ``label_<key>`` for
    each label that a session has.
    """
    import pandas as pd

    rows = [(record, session) for session in sessions for record in point_records(session)]
    records = [record for record, _ in rows]
    columns: dict[str, Any] = {
        name: pd.array([_cell(record, name) for record in records], dtype=dtype)  # type: ignore[call-overload]
        for name, dtype in DTYPES.items()
    }
    for axis in dict.fromkeys(axis for record in records for axis in record.sizes):
        sizes = [record.sizes.get(axis) for record in records]
        columns[f"{SIZE}{axis}"] = pd.array(sizes, dtype="Int64")
    for name in dict.fromkeys(name for record in records for name in record.parameters):
        values = [record.parameters.get(name) for record in records]
        columns[f"{SET}{name}"] = _of_parameter(pd, values)
    for key in dict.fromkeys(key for _, session in rows for key in session.identity.labels):
        labels = [session.identity.labels.get(key) for _, session in rows]
        columns[f"{LABEL}{key}"] = pd.array(labels, dtype="string")
    return pd.DataFrame(columns)


def _of_parameter(pd: Any, values: Sequence[Value | None]) -> Any:
    """Numbers where all are, for they are sorted and plotted; else texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int}:
        return pd.array(values, dtype="Int64")
    if kinds <= {int, float}:
        return pd.array(values, dtype="Float64")
    return pd.array([None if value is None else value_text(value) for value in values], dtype="string")


def _cell(record: PointRecord, name: str) -> object:
    if name == "parameters":
        return " ".join(f"{key}={value_text(value)}" for key, value in record.parameters.items())
    return size_text(record.sizes) if name == "sizes" else getattr(record, name)
