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
_raw_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Batch(Struct, frozen=True, eq=False):
    events: list[Event]
    offset: Whole  # of each in the source
    length: Indices
    is_plain: bool  # valid JSON as it stands, from the first event to the last


class Piece(Struct, frozen=True):
    """One event that was read by itself."""

    event: Event
    offset: int
    length: int
    json_text: bytes  # valid, also where the source is not


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
        text = self._text
        at = 0
        while at < stop and self.ends_at < 0:
            match = _HEAD.search(text, at + _PIECE_BYTES, stop)
            end = match.start() + 1 if match else stop
            events = _events_of(text, at, end)
            if events is not None:
                offset, length = self._places(text[at:end], len(events))
                yield Batch(events, offset + self._at + at, length, True)
                at = _behind_comma(text, end)
                continue
            found: list[Piece] = []
            reached = self._walk(at, end, found)
            if found:
                yield _batch(found)
            if reached == at:
                break
            at = reached
        self._settle(at)

    def _settle(self, at: int) -> None:
        """Takes what was read. What was not is waited for, and given up where nothing can come."""
        if self.ends_at >= 0:
            self.ends_at += self._at
            return
        self._take(at)
        if at == 0 and (self._is_last or len(self._text) > _MOST_PENDING):
            self.dropped += bool(self._text.strip(b"\x00 \t\r\n,"))
            self._take(len(self._text))

    def _walk(self, at: int, end: int, found: list[Piece]) -> int:
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
            piece = self._piece(at, match.start() + 1 if match else len(text)) if mark == b"{" else None
            if piece:
                found.append(piece)
                at = _behind_comma(text, at + piece.length)
            elif match:
                self.dropped += 1
                at = match.end()
            else:
                return at  # more text may help
            self._progress(min(1.0, (self._at + at) / self._source.size))
        return at

    def _piece(self, at: int, stop: int) -> Piece | None:
        json_text = self._text[at:stop]
        if event := lenient_event(json_text):
            return Piece(event, self._at + at, len(json_text), json_text)
        new = mended(self._text, at)
        event = lenient_event(new[0]) if new else None
        if not new or not event:
            return None
        was = self._text[at : new[1]]
        self.repaired += decoded(was) is None
        return Piece(event, self._at + at, len(was), new[0])


def _joined_at(text: bytes, joint: bytes) -> Whole:
    """Where a joint ends, at the brace that begins the next event; three times as fast as a split."""
    codes = np.frombuffer(text, np.uint8)
    at = np.flatnonzero(codes == ord("{"))
    at = at[at >= max(1, len(joint) - 1)]
    for back, code in enumerate(reversed(joint[:-1]), 1):
        at = at[codes[at - back] == code]
    return at


def _events_of(text: bytes, first: int, last: int) -> list[Event] | None:
    """The events of a part of the text; None where it is no list of events."""
    try:
        return event_list(b"".join((b"[", memoryview(text)[first:last], b"]")))
    except UNREADABLE:
        return None


def _behind_comma(text: bytes, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _batch(pieces: list[Piece]) -> Batch:
    return Batch(
        [each.event for each in pieces],
        np.array([each.offset for each in pieces], np.int64),
        np.array([each.length for each in pieces], np.int32),
        False,
    )
