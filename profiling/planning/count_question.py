"""What a child under Nsight Compute is asked: which implementations to call, and how often."""

from msgspec import Struct

from roofscope.profiling.planning.debug_question import DebugQuestion


class Subject(Struct, frozen=True):
    """One implementation at one workload."""

    question: DebugQuestion
    bytes_per_call: int  # compulsory, of its spec; 0 where none is known


class CountQuestion(Struct, frozen=True):
    """Goes to a child as JSON."""

    subjects: tuple[Subject, ...]
    rotates: bool  # observe several calls on rotated buffers, else one
    answer: str = ""  # the file that the child writes: a tuple of Observed; "": nobody waits for it


class Observed(Struct, frozen=True):
    """What became of one subject: how many calls were observed, or why none was."""

    calls: int = 0
    problem: str = ""  # one sentence
