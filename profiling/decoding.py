"""The one way in for JSON from outside: other processes' lines, files, blobs of a session.

It ends in a value or in one named error, whatever the bytes are. msgspec alone ends in five kinds of error,
only two of them its own, and takes integers of four thousand digits, by which no float can be divided.
"""

import re
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

Value = TypeVar("Value")

MOST_BYTES = 256 << 20  # of one document; a session's largest blob is a trace, far below
_INTEGERS = range(-(2**63), 2**63)  # what SQLite, numpy and other readers hold
_LONG_INTEGER = re.compile(rb"(?<![.\d])\d{19}")

_SHOWN = 300  # characters of a reason, which may quote what was read


class UnreadableError(ValueError):
    """These bytes are no such value; the text says why, without an end, to stand in a sentence."""


def decode(data: bytes | str, kind: type[Value], *, most_bytes: int = MOST_BYTES) -> Value:
    """The value that JSON text holds. Raises UnreadableError, and nothing else.

    Numbers are finite and integers at most 64 bits long. ``kind`` may be a union of structs.
    """
    try:
        raw = data.encode() if isinstance(data, str) else data
        if len(raw) > most_bytes:
            raise UnreadableError(f"it has {len(raw)} bytes, more than {most_bytes}")
        value = _decoder(kind).decode(raw)
        if _LONG_INTEGER.search(raw) and _has_long_integer(value):
            raise UnreadableError("a whole number in it is longer than 64 bits")
    except UnreadableError:
        raise
    except RecursionError:
        raise UnreadableError("it is nested too deep") from None
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise UnreadableError(f"it is no UTF-8 text ({error.reason})") from None
    except MemoryError:
        raise UnreadableError("there is no memory for it") from None
    except (msgspec.MsgspecError, ValueError, TypeError, AttributeError, OverflowError) as error:
        # TypeError and AttributeError: where a column holds something else than text.
        raise UnreadableError(str(error)[:_SHOWN].rstrip(".")) from None
    return value


@lru_cache(maxsize=64)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def _has_long_integer(value: Any) -> bool:
    """Looked for only where the text has a long run of digits, which may also stand in a string."""
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        kinds: tuple[type, ...] = type(one).__mro__
        if int in kinds and one not in _INTEGERS:
            return True
        if Struct in kinds:
            waiting += msgspec.structs.astuple(one)
        elif dict in kinds:
            waiting += [*one.keys(), *one.values()]
        elif list in kinds or tuple in kinds:
            waiting += one
    return False
