"""What a recorded trace holds beside kernels and operators, and how much of it a session keeps."""

from msgspec import Struct

MOST_TRACE_BYTES = 128 << 20  # of JSON text


class TraceOptions(Struct, frozen=True):
    """Each costs time on the host, some microseconds an operator, and makes the trace longer."""

    shapes: bool = True  # of operators' arguments: the roofline of a trace needs them
    stacks: bool = False  # the Python functions that called
    memory: bool = False  # each allocation

    @property
    def label(self) -> str:
        """``shapes and stacks``; "" where there is nothing beside."""
        named = (("shapes", self.shapes), ("stacks", self.stacks), ("memory", self.memory))
        return " and ".join(name for name, is_on in named if is_on)


def why_too_large(byte_count: int, options: TraceOptions) -> str:
    """As a sentence, with what to leave out; "" where a session keeps so much."""
    if byte_count <= MOST_TRACE_BYTES:
        return ""
    advice = f"record it without {options.label}" if options.label else "choose a smaller workload"
    has, most = byte_count >> 20, MOST_TRACE_BYTES >> 20
    return f"The trace has {has} MiB of JSON text, and a session keeps {most} MiB of one; {advice}."
