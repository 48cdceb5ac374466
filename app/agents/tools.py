"""The five tools: what each is called, what it says of itself, what it takes and what it does.

A new argument of one is a field of its request, at the end and with a default.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from roofscope.app.agents.answers import (
    CompareAnswer,
    HereAnswer,
    MeasureAnswer,
    SessionAnswer,
    WhyAnswer,
)
from roofscope.app.agents.comparing import compare
from roofscope.app.agents.control import Control
from roofscope.app.agents.looking import session, what_is_here, why
from roofscope.app.agents.requests import (
    CompareRequest,
    HereRequest,
    MeasureRequest,
    Request,
    SessionRequest,
    WhyRequest,
    request_of,
)
from roofscope.app.agents.workbench import Workbench

Asked = TypeVar("Asked", bound=Request)

INSTRUCTIONS = """\
Roofscope verifies and times kernels (Triton, CUDA C++, PyTorch) on this machine, and says how near each \
is to the roof: the least time that the device's measured ceilings allow.

Work in rounds. Call what_is_here once. Measure the first version with measure_file, with its reference \
and its inputs; both are kept beside the file. Read summary, next_step and flags, and call why before \
you guess. Change one thing, keep the file's name, measure again: the session has every version. Before \
you say that one version is faster, compare the two points; where they differ by a few percent, with \
in_turn. Stop where fraction_of_roof is 0.95 or more, or where next_step says that nothing is left.

A time without verification does not exist: results are checked against the reference in float64, at \
other sizes, on inputs that the kernel has never seen, and outputs are poisoned before each check. \
Kernels run in a process of their own and decide nothing. One that keeps results, skips work, or reaches \
what judges it is refused or flagged, and the flag stands in the session. Quote a time with its interval \
and its flags.\
"""


class Tool(Struct, Generic[Asked], frozen=True):
    name: str
    title: str
    description: str
    asks: type[Asked]
    answers: type[Struct]
    do: Callable[[Workbench, Asked, Control], Struct]
    is_read_only: bool

    def call(self, bench: Workbench, arguments: object, control: Control) -> Struct:
        """Raises AgentFault."""
        return self.do(bench, request_of(self.name, arguments, self.asks), control)


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        name="what_is_here",
        title="What is here",
        description="The device, its measured ceilings (byte/s of each memory, FLOP/s of each pipe), what is "
        "missing and its fix, the kernels of the library, and the session. Call it first. With kernel: the "
        "implementations, types and sizes of one kernel, and the folder with their sources, to read.",
        asks=HereRequest,
        answers=HereAnswer,
        do=lambda bench, request, _: what_is_here(bench, request),
        is_read_only=True,
    ),
    Tool(
        name="measure_file",
        title="Measure this file",
        description="Verify and time a kernel in a file as it stands: a Python file with @triton.jit kernels "
        "and a function that launches them, any Python function of tensors, a .cu with __global__ kernels "
        "(give grid and block), or a C++ extension. Give path or source; the first time also reference, a "
        "torch expression of the inputs, and inputs, their shapes and types. Answers with the time of a call "
        "(median, 95 % interval, cold caches), the fraction of its roof, what limits it, the next thing to "
        "try and the flags; or with the failure, its line and its log. Takes 10 s to some minutes; reports "
        "progress; can be cancelled; one at a time. Everything goes into the session. Files of other users "
        "are refused until the user of this machine trusts them; no tool can.",
        asks=MeasureRequest,
        answers=MeasureAnswer,
        do=lambda bench, request, control: bench.measure(request, control),
        is_read_only=False,
    ),
    Tool(
        name="why",
        title="Why this point",
        description="What limits a point, in four sentences with their figures: limit, cost, evidence, next "
        "step; then what else could be tried, the most worth first. Of a point without a time: what "
        "happened, what that means, and the next step. Call it before you change a kernel.",
        asks=WhyRequest,
        answers=WhyAnswer,
        do=lambda bench, request, _: why(bench, request),
        is_read_only=True,
    ),
    Tool(
        name="compare",
        title="Compare two",
        description="How many times as fast point b is as point a, with a 95 % interval, and whether the two "
        "can be distinguished. As they were measured this takes no time, but two runs of unchanged code "
        "differ by some percent, which the interval holds. With in_turn both versions are measured again, "
        "round by round on the same inputs, so that drift cancels: use it before you prefer one for a few "
        "percent.",
        asks=CompareRequest,
        answers=CompareAnswer,
        do=compare,
        is_read_only=False,
    ),
    Tool(
        name="session",
        title="The session",
        description="All that was measured so far, also in earlier conversations: the best version of each "
        "kernel, and the newest points with outcome, time, fraction of roof, flags and notes. With point: "
        "write a note of what was tried and what came of it, a tag, or a pin. With rename: name the file.",
        asks=SessionRequest,
        answers=SessionAnswer,
        do=lambda bench, request, _: session(bench, request),
        is_read_only=False,
    ),
)


def tool_named(name: str) -> Tool[Any] | None:
    return next((tool for tool in TOOLS if tool.name == name), None)
