"""Mends JSON as Kineto and other tools get it wrong, one value at a time.

A quote ends a string only where JSON can go on behind it: a colon behind a key, and behind a value a
closing bracket or a comma with the next value or key. Any other quote belongs to the text and is escaped.
"""

import math
import re

import msgspec

_MOST_BYTES = 1 << 20  # of one event; a mended stack of a thousand frames is a tenth of it
_QUOTES = 4096  # within one string, before it counts as unreadable
_SPACE = re.compile(rb"[\x00-\x20]*")
_LITERAL = re.compile(rb"[^\x00-\x20{}\[\],:\"]+")
_TO_QUOTE = re.compile(rb'(?:[^"\\]|\\.)*?"', re.DOTALL)
_BEHIND_KEY = re.compile(rb"[\x00-\x20]*:")
_BEHIND_VALUE = re.compile(
    rb'[\x00-\x20]*(?:,[\x00-\x20]*(?:"(?:[^"\\]|\\.){0,200}"[\x00-\x20]*:|\})|\}[\x00-\x20]*(?:[,}\]]|\Z))',
    re.DOTALL,
)
_BEHIND_ITEM = re.compile(rb'[\x00-\x20]*(?:\]|,[\x00-\x20]*(?:["{\[\-0-9\]]|true|false|null|NaN|Inf))')
# Pairs of an object that hold no fault, with the comma behind each: most of a broken event, taken at once.
# What the scanner below would make of them is the same text, but for the blanks.
_BLANK = rb"[ \t\r\n]*+"
_TEXT = rb'"[\x20!#-\[\]-~]*+"'
_NUMERAL = rb"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?+"
_SIMPLE = rb"(?:" + _TEXT + rb"|" + _NUMERAL + rb"|true|false|null)"


def _list_of(item: bytes) -> bytes:
    items = item + rb"(?:" + _BLANK + rb"," + _BLANK + item + rb")*+"
    return rb"\[" + _BLANK + rb"(?:" + items + rb")?+" + _BLANK + rb"\]"


_SIZES = rb"(?:" + _SIMPLE + rb"|" + _list_of(_SIMPLE) + rb")"
_PAIR = _TEXT + _BLANK + rb":" + _BLANK + rb"(?:" + _SIZES + rb"|" + _list_of(_SIZES) + rb")" + _BLANK + rb","
_SOUND = re.compile(rb"(?:" + _PAIR + _BLANK + rb"(?=" + _TEXT + _BLANK + rb":))++")
_NEXT_EVENT = re.compile(rb',[\x00-\x20]*\{[\x00-\x20]*"[a-z]{1,4}"[\x00-\x20]*:')
# A backslash and what it escapes. One half of a character is wrong alone, and so is what no rule names.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})"
    r"|u[0-9a-fA-F]{4}"
    r"|[\"\\/bfnrt]"
    r"|(?P<wrong>))"
)
_CONTROL = re.compile(r"[\x00-\x1f]")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_INTEGERS = range(-(2**63), 2**63)
_WORDS = (b"true", b"false", b"null")

# What msgspec ends in. ValueError: bytes that are no UTF-8, and for Python a number without end.
UNREADABLE = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)


class _BrokenError(Exception):
    """The value cannot be made out."""


def mended(text: bytes, start: int) -> tuple[bytes, int] | None:
    """Valid JSON of the value at ``start``, and where it ended in the text; None where none can be made."""
    scanner = _Scanner(text, start, min(len(text), start + _MOST_BYTES))
    try:
        json_text = scanner.value()
        msgspec.json.decode(json_text)
    except (_BrokenError, *UNREADABLE):
        return None
    return json_text, scanner.at


class _Scanner:
    """Goes once through the text; what it has written so far is valid but for what is still open."""

    def __init__(self, text: bytes, start: int, stop: int) -> None:
        self._text, self.at, self._stop = text, start, stop
        self._open: list[bytes] = []  # closing brackets that are due
        self._written: list[bytes] = []

    def value(self) -> bytes:
        is_key = False
        while True:
            self.at = self._after(_SPACE)
            if self.at >= self._stop:
                raise _BrokenError
            mark = self._text[self.at : self.at + 1]
            if mark in b"{[":
                if is_key or len(self._open) > 200:
                    raise _BrokenError
                self._open.append(b"}" if mark == b"{" else b"]")
                is_key = mark == b"{"
                self._write(mark)
            elif mark in b"}]":
                self._close(mark)
                is_key = False
            elif mark in b",:":
                self._write(mark)
                is_key = mark == b"," and self._open[-1:] == [b"}"]
            elif is_key and (sound := _SOUND.match(self._text, self.at, self._stop)):
                self._written.append(sound.group())
                self.at = sound.end()
            elif mark == b'"':
                self._string(is_key)
                is_key = False
            else:
                self._word(is_key)
            if not self._open:
                return b"".join(self._written)

    def _after(self, pattern: re.Pattern[bytes]) -> int:
        match = pattern.match(self._text, self.at, self._stop)
        return match.end() if match else self.at

    def _write(self, mark: bytes) -> None:
        self._written.append(mark)
        self.at += 1

    def _close(self, mark: bytes) -> None:
        if self._open[-1:] != [mark]:
            raise _BrokenError
        del self._open[-1]
        if self._written[-1] == b",":
            del self._written[-1]
        self._write(mark)

    def _string(self, is_key: bool) -> None:
        behind = _BEHIND_KEY if is_key else _BEHIND_VALUE if self._open[-1:] == [b"}"] else _BEHIND_ITEM
        pieces: list[bytes] = []
        at = self.at + 1
        for _ in range(1 if is_key else _QUOTES):  # no tool writes a quote into a key
            match = _TO_QUOTE.match(self._text, at, self._stop)
            if not match:
                break
            pieces.append(self._text[at : match.end() - 1])
            at = match.end()
            if len(pieces) > 1 and _NEXT_EVENT.search(self._text, self.at, at):
                break  # the end of this event is missing, and the string runs into another one
            if behind.match(self._text, at, self._stop):
                self._written.append(b'"' + rb"\"".join(map(_valid_text, pieces)) + b'"')
                self.at = at
                return
        raise _BrokenError

    def _word(self, is_key: bool) -> None:
        match = _LITERAL.match(self._text, self.at, self._stop)
        if is_key or not match:
            raise _BrokenError
        word = match.group()
        self._written.append(word if _is_valid(word) else b"null")  # NaN, Infinity, an integer without an end
        self.at = match.end()


def _is_valid(word: bytes) -> bool:
    if word in _WORDS:
        return True
    if not _NUMBER.fullmatch(word) or len(word) > 40 or not math.isfinite(float(word)):
        return False
    return not word.lstrip(b"-").isdigit() or int(word) in _INTEGERS


def _valid_text(piece: bytes) -> bytes:
    text = piece.decode("utf-8", "replace")
    text = _ESCAPE.sub(_valid_escape, text)
    return _CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", text).encode()


def _valid_escape(match: re.Match[str]) -> str:
    if match["half"]:
        return r"\ufffd"
    return match.group() if match["wrong"] is None else r"\\"
