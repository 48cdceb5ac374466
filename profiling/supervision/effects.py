"""What the supervisor wants done: to the worker's process, or shown to the user. Data only."""

from msgspec import Struct

from roofscope.profiling.supervision.protocol import Command
from roofscope.profiling.supervision.run_events import RunEvent


class Spawn(Struct, frozen=True):
    """Start a worker."""


class Send(Struct, frozen=True):
    command: Command


class Terminate(Struct, frozen=True):
    """Ask the worker's process group to end."""


class Kill(Struct, frozen=True):
    """End the worker's process group."""


Effect = Spawn | Send | Terminate | Kill | RunEvent
