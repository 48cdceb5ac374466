"""An operator of a trace as a row: its own and whole times, on the host and on the GPU."""

from typing import TYPE_CHECKING

from roofscope.app.presentation.formatting import MISSING, count_text, time_text

if TYPE_CHECKING:
    from roofscope.profiling.traces.averages import OperatorRow

OPERATOR_HEADERS = ("operator", "calls", "host, own", "host, all", "GPU, own", "GPU, all")


def operator_cells(row: "OperatorRow") -> tuple[str, ...]:
    """What launched nothing has no time on a GPU."""
    device = (time_text(each) if each else MISSING for each in (row.device_self_s, row.device_total_s))
    return (row.name, count_text(row.count), time_text(row.host_self_s), time_text(row.host_total_s), *device)
