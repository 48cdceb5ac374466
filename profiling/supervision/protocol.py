"""The worker's language: one JSON object a line, each a tagged struct.

Parent to worker: commands. Worker to parent: events. Nothing is sent inside a timed block.
"""

from hmac import compare_digest
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import Outcome, Stage
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.roofline.roofline import Ceiling

PROTOCOL_VERSION = 2


class Open(Struct, frozen=True, tag="open"):
    """First command. ``kernel_roots`` are folders on the worker's machine.

    ``secret`` was made for this worker alone. All that it says carries it.
    """

    protocol: int
    kernel_roots: tuple[str, ...] = ()
    secret: str = ""


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


class Cancel(Struct, frozen=True, tag="cancel"):
    """Stop the task with this id between two blocks or stages."""

    id: str


class Close(Struct, frozen=True, tag="close"):
    pass


Task = Run | Probe | SelfTest | Trace
Command = Open | Task | Cancel | Close


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


Event = Hello | StageStarted | OutcomeReady | CeilingReady | ProofReady | TraceReady | TaskDone | Notice | Bye

Message = TypeVar("Message")


class ProtocolError(ValueError):
    """A line that is no message of this protocol."""


class LineDecoder(Generic[Message]):
    """Turns bytes, cut anywhere, into messages."""

    def __init__(self, message_type: type[Message]) -> None:
        self._decoder = msgspec.json.Decoder(message_type)
        self._rest = b""

    def feed(self, data: bytes) -> list[Message]:
        """Messages completed by these bytes. Raises ProtocolError on a line that is none."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [self._decode(line) for line in lines if line.strip()]

    def _decode(self, line: bytes) -> Message:
        try:
            return self._decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise ProtocolError(
                f"The worker said something else than a message: {line[:200]!r} ({error})."
            ) from error


class Sealed(Struct, frozen=True):
    """An event as it travels: whatever else finds its way into the pipe does not know the secret."""

    secret: str
    event: Event


class EventDecoder:
    """Turns what a worker says into events."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._lines: LineDecoder[Sealed] = LineDecoder(Sealed)

    def feed(self, data: bytes) -> list[Event]:
        """Events completed by these bytes. Raises ProtocolError on a line that is none of this worker's."""
        sealed = self._lines.feed(data)
        if any(not compare_digest(one.secret, self._secret) for one in sealed):
            raise ProtocolError("Something else than the worker spoke in its place; it was ended.")
        return [one.event for one in sealed]


def event_decoder(secret: str) -> EventDecoder:
    return EventDecoder(secret)


def command_decoder() -> LineDecoder[Command]:
    return LineDecoder(Command)  # type: ignore[arg-type]


def encode(message: Command | Sealed) -> bytes:
    return msgspec.json.encode(message) + b"\n"
