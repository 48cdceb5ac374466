"""A trace as data frames, whose columns have their unit in the name; what a trace does not say is missing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofscope.profiling.traces.columns import NONE, Category, Trace
from roofscope.profiling.traces.totals import KernelRow

if TYPE_CHECKING:
    from pandas import DataFrame

_NS = 1e-9


def kernels_frame(rows: Sequence[KernelRow]) -> "DataFrame":
    """The busiest first."""
    import pandas as pd  # slow to load

    columns = ("name", "short_name", "count", "total_s", "mean_s", "min_s", "max_s", "share")
    return pd.DataFrame({name: [getattr(row, name) for row in rows] for name in columns})


def slices_frame(trace: Trace) -> "DataFrame":
    """Every slice: the lanes one after another, each in order of time. Times are since the first event."""
    import pandas as pd

    slices = trace.slices

    def chosen(texts: Sequence[str], codes: Any) -> Any:
        return np.array(texts, object)[codes]

    def known(numbers: Any) -> Any:
        return pd.array(numbers, dtype="Int64").copy()

    frame = pd.DataFrame(
        {
            "name": chosen(trace.names, slices.name),
            "category": chosen([each.name.lower() for each in Category], slices.category),
            "process": chosen([lane.process for lane in trace.lanes], slices.lane),
            "thread": chosen([lane.thread for lane in trace.lanes], slices.lane),
            "device": known(np.array([lane.device for lane in trace.lanes])[slices.lane]),
            "stream": known(np.array([lane.stream for lane in trace.lanes])[slices.lane]),
            "depth": slices.depth,
            "start_s": slices.start_ns * _NS,
            "duration_s": slices.duration_ns * _NS,
            "correlation": known(slices.correlation),
            "external_id": known(slices.external),
        }
    )
    for column in ("device", "stream", "correlation", "external_id"):
        frame[column] = frame[column].mask(frame[column] == NONE)
    return frame
