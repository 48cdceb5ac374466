"""What a user says of a point: pin, note, tags, deleted, times in its traces. A change is a new value."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

MOST_NOTE = 4000  # characters
MOST_TAG = 60
MOST_TAGS = 30
MOST_MOMENTS = 200
MOST_MOMENT_NOTE = 200
_MOST_NS = 1 << 62


class Moment(Struct, frozen=True, omit_defaults=True):
    """A time in a trace of the point that the user marked."""

    trace: int  # its number in the session
    at_ns: int  # of the clock that the trace was recorded with
    note: str = ""


class Mark(Struct, frozen=True, omit_defaults=True):
    """Of one point; the newest row of a point counts, and an empty one says that nothing is left."""

    pinned_at: str | None = None  # ISO 8601, UTC: of several pins the earliest is the baseline
    note: str = ""
    tags: tuple[str, ...] = ()
    deleted_at: str | None = None  # then it is in no view, figure or export, until it is brought back
    moments: tuple[Moment, ...] = ()  # in its traces

    @property
    def is_empty(self) -> bool:
        return self == Mark()

    @property
    def is_pinned(self) -> bool:
        return self.pinned_at is not None

    def pinned(self, at: str) -> "Mark":
        """As it is where it is pinned already."""
        return self if self.pinned_at else replace(self, pinned_at=at)

    def unpinned(self) -> "Mark":
        return replace(self, pinned_at=None)

    @property
    def is_deleted(self) -> bool:
        return self.deleted_at is not None

    def deleted(self, at: str) -> "Mark":
        """As it is where it is deleted already."""
        return self if self.deleted_at else replace(self, deleted_at=at)

    def brought_back(self) -> "Mark":
        """With its pin, note and tags of before."""
        return replace(self, deleted_at=None)

    def noted(self, note: str) -> "Mark":
        return replace(self, note=note.strip())

    def tagged(self, tag: str) -> "Mark":
        """Tags keep the order in which they were given."""
        tag = " ".join(tag.split())
        return self if not tag or tag in self.tags else replace(self, tags=(*self.tags, tag))

    def untagged(self, tag: str) -> "Mark":
        return replace(self, tags=tuple(one for one in self.tags if one != tag))

    def with_moment(self, moment: Moment) -> "Mark":
        """In the place of one at the same time of the same trace; in the order of time."""
        kept = self.without_moment(moment).moments
        moments = sorted((*kept, moment), key=lambda one: (one.trace, one.at_ns))
        return replace(self, moments=tuple(moments))

    def without_moment(self, moment: Moment) -> "Mark":
        """By its trace and time, whatever its note."""
        place = (moment.trace, moment.at_ns)
        return replace(self, moments=tuple(one for one in self.moments if (one.trace, one.at_ns) != place))


def with_mark(marks: Mapping[int, Mark], number: int, mark: Mark) -> dict[int, Mark]:
    """The marks of a session after a change of one point's; what is empty is left out."""
    others = {one: known for one, known in marks.items() if one != number}
    return others if mark.is_empty else {**others, number: mark}


def pins_of(marks: Mapping[int, Mark]) -> tuple[int, ...]:
    """Numbers of the pinned points, the earliest pin first."""
    pinned = [(mark.pinned_at, number) for number, mark in marks.items() if mark.pinned_at]
    return tuple(number for _, number in sorted(pinned))


def tags_of(marks: Iterable[Mark]) -> tuple[str, ...]:
    """Each tag once, in the order of the alphabet."""
    return tuple(sorted({tag for mark in marks for tag in mark.tags}))


def why_unfit(mark: Mark) -> str:
    """Why a session holds no such mark, as a sentence; "" where it does."""
    if len(mark.note) > MOST_NOTE:
        return f"A note has at most {MOST_NOTE} characters, this one {len(mark.note)}."
    if len(mark.tags) > MOST_TAGS:
        return f"A point has at most {MOST_TAGS} tags, this one {len(mark.tags)}."
    if len(mark.moments) > MOST_MOMENTS:
        return f"The traces of a point have at most {MOST_MOMENTS} marks, these {len(mark.moments)}."
    if any(len(moment.note) > MOST_MOMENT_NOTE for moment in mark.moments):
        return f"The note of a mark in a trace has at most {MOST_MOMENT_NOTE} characters."
    if any(moment.trace < 0 or abs(moment.at_ns) > _MOST_NS for moment in mark.moments):
        return "A mark lies at no time of a trace."
    long = next((tag for tag in mark.tags if len(tag) > MOST_TAG), None)
    return f"A tag has at most {MOST_TAG} characters: {long[:MOST_TAG]}... has {len(long)}." if long else ""
