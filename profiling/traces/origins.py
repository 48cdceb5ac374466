"""Where work of a GPU comes from: the call that launched it, and the operator that made the call."""

import numpy as np
from msgspec import Struct

from roofscope.profiling.traces.columns import NONE, Category, FlowKind, Indices, Trace, Whole


class Origins(Struct, frozen=True, eq=False):
    """Of each kernel, copy and fill, in order of time; all columns of one length."""

    work: Indices  # an index of Trace.slices
    launch: Indices  # of the call that launched it; NONE where the trace does not say
    operator: Indices  # of the innermost operator of the host; NONE where the trace does not say
    called_ns: Whole  # when it was launched, or else began


def origins_of(trace: Trace) -> Origins:
    """By arrow, else by correlation; the operator by the external id of the work, else of its launch.

    An id that several operators have, as in traces that were joined, names none of them.
    """
    slices = trace.slices
    work = np.flatnonzero(slices.category <= Category.MEMSET).astype(np.int32)
    work = work[np.argsort(slices.start_ns[work], kind="stable")]
    is_call = np.isin(slices.category, (Category.RUNTIME, Category.DRIVER))
    by_arrow = np.full(len(slices), NONE, np.int32)
    is_launch = trace.flows.kind == FlowKind.LAUNCH
    by_arrow[trace.flows.target[is_launch]] = trace.flows.source[is_launch]
    calls = np.flatnonzero(is_call).astype(np.int32)
    by_number = _with_id(slices.correlation[work], slices.correlation[calls], calls)
    launch = np.where(by_arrow[work] != NONE, by_arrow[work], by_number)
    operators = np.flatnonzero(slices.category == Category.CPU_OP).astype(np.int32)
    ids = slices.external[operators]
    own = _with_id(slices.external[work], ids, operators)
    of_launch = np.where(launch != NONE, slices.external[launch], NONE)
    operator = np.where(own != NONE, own, _with_id(of_launch, ids, operators))
    called = np.where(launch != NONE, slices.start_ns[launch], slices.start_ns[work])
    return Origins(work, launch.astype(np.int32), operator.astype(np.int32), called)


def _with_id(wanted: Whole, ids: Whole, places: Indices) -> Indices:
    """For each wanted id the one place that has it; NONE where none has, or several."""
    known, first, counts = np.unique(ids, return_index=True, return_counts=True)
    if not len(known):
        return np.full(len(wanted), NONE, np.int32)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    is_found = (known[at] == wanted) & (wanted > 0) & (counts[at] == 1)
    return np.where(is_found, places[first[at]], NONE).astype(np.int32)
