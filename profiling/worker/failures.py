"""The ways an implementation can end without a time, as exceptions inside the worker.

Classified once, by exception type, CUDA error code and stage, never by message text.
"""

from msgspec import Struct

from profiling.outcome import Failed, FailureKind, Skipped, SkipKind, Stage


class Refusal(Exception):
    """This implementation does not run here; the text is one sentence with the reason."""

    kind = SkipKind.UNSUPPORTED


class Unavailable(Refusal):
    """Something that could be installed is missing."""

    kind = SkipKind.UNAVAILABLE


class TooLarge(Refusal):
    """The workload does not fit the device's free memory."""

    kind = SkipKind.TOO_LARGE


class BuildError(Exception):
    """The compiler refused the source. ``log`` is what it printed."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


class WrongResult(Exception):
    """Verification found a result that is not the reference's."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class CancelRequested(Exception):
    """The parent asked to stop; raised between blocks and stages only."""


class Classified(Struct, frozen=True):
    """An exception as an outcome, and whether the device can be used afterwards."""

    outcome: Failed | Skipped
    device_is_sound: bool = True


# CUDA errors after which the context answers every call with the same error ("sticky").
_STICKY_CODES = frozenset({700, 701, 702, 710, 714, 715, 716, 717, 718, 719, 720, 721, 999})
