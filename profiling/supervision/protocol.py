"""The worker's language: one JSON object a line, each a tagged struct.

Parent to worker: commands. Worker to parent: events. Nothing is sent inside a timed block.
"""

from hmac import compare_digest
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.planning.trace_options import TraceOptions
from roofscope.profiling.results.generated import Code
from roofscope.profiling.results.outcome import Outcome, Stage
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.roofline.roofline import Ceiling

PROTOCOL_VERSION = 4


class Open(Struct, frozen=True, tag="open"):
    """First command. ``kernel_roots`` are folders on the worker's machine.

    ``secret`` was made for this worker alone. All that it says carries it.
    """

    protocol: int
    kernel_roots: tuple[str, ...] = ()
    secret: str = ""


class Renew(Struct, frozen=True, tag="renew"):
    """Files of the kernels were edited: read them again and say hello again.

    Torch and the device's context stay, which take seconds; each job loads code of the kernels again.
    """

    kernel_roots: tuple[str, ...] = ()


class Run(Struct, frozen=True, tag="run"):
    job: Job


class Probe(Struct, frozen=True, tag="probe"):
    """Measure the ceilings of a device."""

    id: str
    device: str


class SelfTest(Struct, frozen=True, tag="selftest"):
    """Prove on a device that the measured number is the true one; all proofs when none is named."""

    id: str
    device: str
    proofs: tuple[ProofName, ...] = ()


class Trace(Struct, frozen=True, tag="trace"):
    """Record a torch.profiler trace of the job's one implementation."""

    job: Job
    options: TraceOptions = TraceOptions()


class Cancel(Struct, frozen=True, tag="cancel"):
    """Stop the task with this id between two blocks or stages."""

    id: str


class Close(Struct, frozen=True, tag="close"):
    pass


Task = Run | Probe | SelfTest | Trace
Command = Open | Renew | Task | Cancel | Close


def task_id(task: Task) -> str:
    """By which the worker knows it."""
    return task.id if isinstance(task, Probe | SelfTest) else task.job.id


def task_label(task: Task) -> str:
    """What the task does, for a reader of the progress line."""
    match task:
        case Run(job=job):
            return job.workload.label
        case Trace(job=job):
            return f"trace of {job.workload.label}"
        case Probe(device=device):
            return f"ceilings of {device}"
        case SelfTest(device=device):
            return f"self-test on {device}"


class Hello(Struct, frozen=True, tag="hello"):
    protocol: int
    environment: Environment
    catalog_hash: str

    def problem(self, catalog_hash: str) -> str:
        """Why this program, with its kernels, cannot work with this worker; "" when it can."""
        if self.protocol != PROTOCOL_VERSION:
            return (
                f"The worker speaks protocol {self.protocol}, this program {PROTOCOL_VERSION}; "
                "bring both checkouts to the same revision."
            )
        if self.catalog_hash != catalog_hash:
            return (
                f"The worker's kernels ({self.catalog_hash[:8]}) differ from those here "
                f"({catalog_hash[:8]}); run again if they were edited just now, else bring both "
                "checkouts to the same revision."
            )
        return ""


class StageStarted(Struct, frozen=True, tag="stage"):
    """The task now in flight; the parent kills the worker when the deadline passes."""

    id: str
    stage: Stage
    deadline_s: float
    implementation: Implementation | None = None  # None for a probe and a self-test
    detail: str = ""


class OutcomeReady(Struct, frozen=True, tag="outcome"):
    id: str
    implementation: Implementation
    outcome: Outcome


class CeilingReady(Struct, frozen=True, tag="ceiling"):
    id: str
    ceiling: Ceiling


class ProofReady(Struct, frozen=True, tag="proof"):
    id: str
    proof: Proof


class TraceReady(Struct, frozen=True, tag="trace_ready"):
    """A profiler trace in Chrome's JSON format, gzipped (base64 on the wire)."""

    id: str
    implementation: Implementation
    chrome_json_gz: bytes


class CodeReady(Struct, frozen=True, tag="code"):
    """What compilers made of an implementation that has its outcome."""

    id: str
    implementation: Implementation
    codes: tuple[Code, ...]


class TaskDone(Struct, frozen=True, tag="done"):
    """Nothing more comes for this task. ``problem`` is one sentence if it failed as a whole."""

    id: str
    problem: str = ""


class Notice(Struct, frozen=True, tag="notice"):
    text: str


class Bye(Struct, frozen=True, tag="bye"):
    """The worker ends by itself; ``reason`` is one sentence.

    ``restart`` says that a fresh worker can go on with the queue, as after a device fault that
    was already reported as an outcome; otherwise the queue stops until the user acts. ``is_busy``: another
    worker has the device, and nothing is wrong.
    """

    reason: str
    restart: bool
    is_busy: bool = False


Event = (
    Hello
    | StageStarted
    | OutcomeReady
    | CeilingReady
    | ProofReady
    | TraceReady
    | CodeReady
    | TaskDone
    | Notice
    | Bye
)

Message = TypeVar("Message")


class ProtocolError(ValueError):
    """A line that is no message of this protocol."""


# A trace is the longest message: of five calls, two kilobytes packed where a call is a few kernels, some
# megabytes where it is ten thousand. This is several times that, and what a reader's memory can bear.
MOST_LINE_BYTES = 64 << 20


class LineDecoder(Generic[Message]):
    """Turns bytes, cut anywhere, into messages. What is no message costs its own line and no other."""

    def __init__(self, message_type: type[Message], most_line_bytes: int = MOST_LINE_BYTES) -> None:
        self._type = message_type
        self._most_line_bytes = most_line_bytes
        self._parts: list[bytes] = []  # of a line that is not complete
        self._size = 0
        self._is_skipping = False  # to the end of a line that was too long

    def feed(self, data: bytes) -> list[Message | ProtocolError]:
        """What these bytes complete, in order: messages, and an error for each line that is none."""
        found: list[Message | ProtocolError] = []
        *ends, rest = data.split(b"\n")
        for end in ends:
            found += self._take(end)
            found += self._complete()
        found += self._take(rest)
        return found

    def _take(self, part: bytes) -> list[ProtocolError]:
        """More of the line at hand, kept in parts: to join them each time is quadratic."""
        if self._is_skipping or not part:
            return []
        self._parts.append(part)
        self._size += len(part)
        if self._size <= self._most_line_bytes:
            return []
        self._is_skipping = True
        beginning = b"".join(self._parts)[:_SHOWN_BYTES]
        self._parts = []
        return [_no_message(beginning, f"it has more than {self._most_line_bytes} bytes")]

    def _complete(self) -> list[Message | ProtocolError]:
        line, was_skipped = b"".join(self._parts), self._is_skipping
        self._parts, self._size, self._is_skipping = [], 0, False
        if was_skipped or not line.strip():
            return []
        try:
            return [decode(line, self._type, most_bytes=self._most_line_bytes)]
        except UnreadableError as error:
            return [_no_message(line[:_SHOWN_BYTES], str(error))]


_SHOWN_BYTES = 200


def _no_message(beginning: bytes, why: str) -> ProtocolError:
    return ProtocolError(f"The worker said something else than a message: {beginning!r} ({why}).")


class Sealed(Struct, frozen=True):
    """An event as it travels: whatever else finds its way into the pipe does not know the secret."""

    secret: str
    event: Event


class EventDecoder:
    """Turns what a worker says into events."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._lines: LineDecoder[Sealed] = LineDecoder(Sealed)

    def feed(self, data: bytes) -> list[Event | ProtocolError]:
        """What these bytes complete, in order: events, and an error for each line of nobody or of another."""
        return [self._opened(one) for one in self._lines.feed(data)]

    def _opened(self, line: Sealed | ProtocolError) -> Event | ProtocolError:
        if isinstance(line, ProtocolError):
            return line
        if not compare_digest(line.secret.encode(), self._secret.encode()):
            return ProtocolError("Something else than the worker spoke in its place; it was ended.")
        return line.event


def event_decoder(secret: str) -> EventDecoder:
    return EventDecoder(secret)


def command_decoder() -> LineDecoder[Command]:
    return LineDecoder(Command)  # type: ignore[arg-type]


def encode(message: Command | Sealed) -> bytes:
    return msgspec.json.encode(message) + b"\n"
