"""The events of a trace in chunks: decoded at once where the JSON is right, one by one where it is not."""

import re
from collections.abc import Iterator

import msgspec
import numpy as np
from msgspec import Struct

from roofscope.profiling.results.chrome_trace import TraceError
from roofscope.profiling.traces.columns import Indices, Whole
from roofscope.profiling.traces.events import Event, decoded, event_list, lenient_event
from roofscope.profiling.traces.repair import UNREADABLE, mended
from roofscope.profiling.traces.source import Progress, Source, check_beginning

CHUNK_BYTES = 1 << 20  # stays in a core's cache from reading to columns; progress is said at each
_PIECE_BYTES = 1 << 16  # of a chunk that is no valid JSON: a wrong event has 200 read one by one
_MOST_HEADER = 64 << 20
_MOST_PENDING = 16 << 20  # of text without an event's beginning
_ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"[\x00-\x20,]*")
_JOINT = re.compile(rb'\}\s*,\s*\{(?=\s*"(?:ph|name|cat|pid|tid|ts|id|args|dur|s|bp)"\s*:)')
_HEAD = re.compile(rb'\}[\s,]*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|id|args|dur|s|bp)"\s*:)')
_AT_BYTE = re.compile(r"\(byte (\d+)\)\Z")  # how msgspec ends what it says of malformed JSON
_raw_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Batch(Struct, frozen=True, eq=False):
    events: list[Event]
    offset: Whole  # of each in the source
    length: Indices
    is_plain: bool  # valid JSON as it stands, from the first event to the last


class Layout(Struct, frozen=True):
    """Where the events begin: behind the `[` of `traceEvents`, or of a file that is only a list."""

    events_at: int
    is_bare: bool


def find_layout(source: Source, name: str) -> Layout:
    """Raises TraceError where this is no trace."""
    first = source.read(0, 4096)
    check_beginning(first, name)
    begin = re.match(rb"(?:\xef\xbb\xbf)?\s*([\[{])\s*(.?)", first)
    if begin and begin.group(1) == b"[":
        if begin.group(2) not in (b"{", b"]", b""):
            raise TraceError(f"{name} is JSON but no trace: it is a list of something else than events.")
        return Layout(begin.end(1), True)
    at, kept = 0, b""
    while at < min(source.size, _MOST_HEADER):
        text = kept + source.read(at, CHUNK_BYTES)
        if match := _ARRAY.search(text):
            return Layout(at - len(kept) + match.end(), False)
        at += CHUNK_BYTES
        kept = text[-64:]
    raise TraceError(f"{name} is JSON but no trace: it has no traceEvents; choose a Chrome trace.")


class EventReader:
    """Goes through the events once; afterwards says what was wrong with them."""

    def __init__(self, source: Source, layout: Layout, progress: Progress) -> None:
        self._source, self._progress = source, progress
        self._at = layout.events_at  # in the source, of `_text`
        self._text = b""
        self._joint = b""
        self.dropped = 0
        self.repaired = 0
        self.is_cut = source.is_cut
        self.ends_at = -1  # behind the `]`; -1 where it never came

    def batches(self) -> Iterator[Batch]:
        while self._fill():
            cut = self._last_joint()
            batch = self._decoded(cut) if cut else None
            if batch:
                self._take(_behind_comma(self._text, cut))
                yield batch
                continue
            yield from self._in_pieces(cut or len(self._text))
            if self.ends_at >= 0:
                return
        self.is_cut = True

    def _fill(self) -> bool:
        """More text; skips what stands between two events. False at the end of the source."""
        while not self._is_last or self._text:
            self._progress(min(1.0, self._at / self._source.size))
            next_at = self._at + len(self._text)
            new = self._source.read(next_at, CHUNK_BYTES)
            if not new:
                self._source.size = next_at  # also of a file that has been cut while it is read
            self._text += new
            self._take(_behind_comma(self._text, 0))
            if self._text:
                return True
        return False

    def _take(self, count: int) -> None:
        if count:
            self._text = self._text[count:]
            self._at += count

    @property
    def _is_last(self) -> bool:
        return self._at + len(self._text) >= self._source.size

    def _last_joint(self) -> int:
        """Where the last event ends that another one follows; 0 where none does."""
        if not self._joint and (match := _JOINT.search(self._text)):
            self._joint = match.group()
        return self._text.rfind(self._joint) + 1 if self._joint else 0

    def _decoded(self, stop: int) -> Batch | None:
        events = _events_of(self._text, 0, stop)
        if events is None:
            return None
        offset, length = self._places(self._text[:stop], len(events))
        return Batch(events, offset + self._at, length, True)

    def _places(self, text: bytes, count: int) -> tuple[Whole, Indices]:
        """Where each event begins and how long it is, all at once where they are joined alike."""
        later = _joined_at(text, self._joint)
        if len(later) == count - 1:
            begin = np.concatenate((np.zeros(1, np.int64), later))
            end = np.append(later - (len(self._joint) - 2), len(text))
            return begin, (end - begin).astype(np.int32)
        raw = [len(memoryview(each)) for each in _raw_list(b"[" + text + b"]")]
        begin = np.empty(count, np.int64)
        at = 0
        for index, size in enumerate(raw):
            at = text.index(b"{", at)
            begin[index] = at
            at += size
        return begin, np.asarray(raw, np.int32)

    # What is not valid JSON, or ends the list

    def _in_pieces(self, stop: int) -> Iterator[Batch]:
        """The text up to ``stop``, or to where it can be understood before more of it is read."""
        at = 0
        while at < stop and self.ends_at < 0:
            match = _HEAD.search(self._text, at + _PIECE_BYTES, stop)
            found: list[Batch] = []
            reached = self._piece(at, match.start() + 1 if match else stop, found)
            if found:
                yield _joined(found)
            if reached == at:
                break
            at = reached
        self._settle(at)

    def _piece(self, at: int, end: int, found: list[Batch]) -> int:
        """All events that begin before ``end``: at once up to the next fault, and what has it alone."""
        while at < end and self.ends_at < 0:
            sound = self._sound(at, end)
            if sound is None:
                return self._walk(at, end, found)
            events, stop = sound
            if events:
                offset, length = self._places(self._text[at:stop], len(events))
                found.append(Batch(events, offset + self._at + at, length, stop == end and not found))
                at = _behind_comma(self._text, stop)
            if stop < end:
                reached = self._walk(at, at + 1, found)
                if reached == at:
                    break
                at = reached
        return at

    def _sound(self, at: int, end: int) -> tuple[list[Event], int] | None:
        """The events up to ``end`` or to the first that has a fault, and where they end.

        None where msgspec does not say at which byte the fault is, or where it lies behind its event.
        """
        try:
            return _events(self._text, at, end), end
        except UNREADABLE as error:
            said = _AT_BYTE.search(str(error))
        if not said or not self._joint:
            return None
        stop = self._text.rfind(self._joint, at, at + int(said[1])) + 1
        if stop <= at:
            return [], at
        events = _events_of(self._text, at, stop)
        return None if events is None else (events, stop)

    def _settle(self, at: int) -> None:
        """Takes what was read. What was not is waited for, and given up where nothing can come."""
        if self.ends_at >= 0:
            self.ends_at += self._at
            return
        self._take(at)
        if at == 0 and (self._is_last or len(self._text) > _MOST_PENDING):
            self.dropped += bool(self._text.strip(b"\x00 \t\r\n,"))
            self._take(len(self._text))

    def _walk(self, at: int, end: int, found: list[Batch]) -> int:
        """Event by event, from ``at`` until one begins at ``end`` or later."""
        text = self._text
        while at < end:
            mark = text[at : at + 1]
            if mark == b"]":
                self.ends_at = at + 1
                return at + 1
            if mark != b"{" and (other := mended(text, at)):  # a value that is no event
                self.dropped += 1
                at = _behind_comma(text, other[1])
                continue
            match = _HEAD.search(text, at)
            one = self._alone(at, match.start() + 1 if match else len(text)) if mark == b"{" else None
            if one:
                event, length = one
                found.append(Batch([event], np.array([self._at + at]), np.array([length], np.int32), False))
                at = _behind_comma(text, at + length)
            elif match:
                self.dropped += 1
                at = match.end()
            else:
                return at  # more text may help
            self._progress(min(1.0, (self._at + at) / self._source.size))
        return at

    def _alone(self, at: int, stop: int) -> tuple[Event, int] | None:
        """One event by itself, mended where it must be, and how long it is in the source."""
        json_text = self._text[at:stop]
        if event := lenient_event(json_text):
            return event, len(json_text)
        new = mended(self._text, at)
        event = lenient_event(new[0]) if new else None
        if not new or not event:
            return None
        was = self._text[at : new[1]]
        self.repaired += decoded(was) is None
        return event, len(was)


def _joined_at(text: bytes, joint: bytes) -> Whole:
    """Where a joint ends, at the brace that begins the next event; three times as fast as a split."""
    codes = np.frombuffer(text, np.uint8)
    at = np.flatnonzero(codes == ord("{"))
    at = at[at >= max(1, len(joint) - 1)]
    for back, code in enumerate(reversed(joint[:-1]), 1):
        at = at[codes[at - back] == code]
    return at


def _events(text: bytes, first: int, last: int) -> list[Event]:
    return event_list(b"".join((b"[", memoryview(text)[first:last], b"]")))


def _events_of(text: bytes, first: int, last: int) -> list[Event] | None:
    """The events of a part of the text; None where it is no list of events."""
    try:
        return _events(text, first, last)
    except UNREADABLE:
        return None


def _behind_comma(text: bytes, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _joined(parts: list[Batch]) -> Batch:
    if len(parts) == 1:
        return parts[0]
    return Batch(
        [event for part in parts for event in part.events],
        np.concatenate([part.offset for part in parts]),
        np.concatenate([part.length for part in parts]),
        False,
    )
