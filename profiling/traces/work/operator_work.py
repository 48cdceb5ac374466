"""What one call of an operator computes and has to move."""

from collections.abc import Iterable

from msgspec import Struct

from roofscope.profiling.traces.work.call import Operand


class OperatorWork(Struct, frozen=True):
    """Compulsory: each input is read once, each result written once. None is not known."""

    dtype: str  # of what it computes with, as people write it
    flop_count: int | None
    read_bytes: int | None
    write_bytes: int | None
    multiplies: bool = False  # a matmul, a convolution or attention, for the tensor pipe where there is one


def bytes_of(operands: Iterable[Operand]) -> int | None:
    """None where one is not known."""
    counts = [operand.byte_count for operand in operands]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
