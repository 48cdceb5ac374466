"""Under which ceilings the operators of a trace stand, and a sentence that says whose they are."""

from msgspec import Struct

from roofscope.profiling.results.session import Session
from roofscope.profiling.roofline.roofline import Roofline
from roofscope.profiling.traces.columns import Trace
from roofscope.profiling.traces.roofline import product_of


class TraceCeilings(Struct, frozen=True):
    roofline: Roofline
    said: str
    warning: str = ""  # where they are another device's


def device_name(trace: Trace) -> str:
    """Of its first GPU; empty where it names none."""
    return trace.devices[0].name if trace.devices else ""


def ceilings_of(session: Session, trace: Trace) -> TraceCeilings:
    """Those of a session, whatever it was measured on."""
    name, device = device_name(trace), session.device
    of = device.name if device else "a device that it does not name"
    is_measured = any(ceiling.source.is_measured for ceiling in session.roofline.ceilings)
    said = f"Ceilings {'measured on' if is_measured else 'of'} {of}, from {session.path.name}."
    is_other = bool(device and name and device.name != name)
    warning = f"The ceilings are those of {of}, and the trace was recorded on {name}." if is_other else ""
    return TraceCeilings(session.roofline, said, warning)


def sheet_ceilings(trace: Trace, advice: str) -> TraceCeilings:
    """The data sheet's; ``advice`` says how to get others."""
    product = product_of(trace.devices[0]) if trace.devices else None
    if product is None:
        of = device_name(trace) or "a device that the trace does not name"
        said = f"No ceilings: the data sheet of {of} is not known here; {advice}."
        return TraceCeilings(Roofline(()), said)
    said = f"Ceilings of the data sheet of {product.label}; {advice}."
    return TraceCeilings(Roofline(product.ceilings), said)


def own_ceilings(session: Session, trace: Trace) -> TraceCeilings:
    """Measured ones where the session is of the trace's kind of GPU, else the data sheet's."""
    is_own = session.device is not None and session.device.name == device_name(trace)
    if is_own and any(ceiling.source.is_measured for ceiling in session.roofline.ceilings):
        return ceilings_of(session, trace)
    return sheet_ceilings(trace, "a session of such a GPU has measured ones")
