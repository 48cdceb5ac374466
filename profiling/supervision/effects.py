"""What the supervisor wants done: to the worker's process, or shown to the user. Data only."""

from msgspec import Struct

from roofscope.profiling.supervision.protocol import Command
from roofscope.profiling.supervision.run_events import RunEvent


class Spawn(Struct, frozen=True):
    """Start a worker, whose messages will carry the secret."""

    secret: str


class Send(Struct, frozen=True):
    command: Command


class Kill(Struct, frozen=True):
    """End the worker and all below it."""


Effect = Spawn | Send | Kill | RunEvent
