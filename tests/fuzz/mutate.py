"""Inputs that are nearly right: bytes and values of good ones, changed here and there, by a seed."""

import random
from typing import Any

# What one byte or one word more makes of JSON, gzip or SQLite.
TOKENS = (
    b"\xff",
    b"\x00",
    b"\x1b[31m",
    b"\xe2\x80\xae",
    b'"',
    b"{",
    b"}",
    b"[" * 3000,
    b"]",
    b",",
    b":",
    b"\n",
    b"null",
    b"true",
    b"NaN",
    b"1e999",
    b"-1e-400",
    b"1" * 400,
    b"\\ud800",
    b"\\u0000",
    b"-",
)
# What a field may hold without being wrong in its type, and what it may not.
HOSTILE: tuple[Any, ...] = (
    0,
    1,
    -1,
    2**31,
    2**63 - 1,
    -(2**63),
    2**64 - 1,
    10**30,
    0.0,
    -0.0,
    5e-324,
    1e-300,
    1e-12,
    1e300,
    1.7976931348623157e308,
    -1e300,
    0.5,
    "",
    "=1+1",
    "<img src='file:///x'>",
    "</title></script><script>alert(1)</script>",
    '" onload="alert(1)',
    "\x1b]0;x\x07",
    "\u202e\u2066x",
    "\x00",
    "e\u0301" * 50 + "🧿👩‍👩‍👧",
    "x" * 20_000,
    "cuda",
    "float32",
    "2026-01-01",
    None,
    True,
    False,
    [],
    {},
    [0.0],
    [1e-3] * 3,
    [[]],
)


def changed_bytes(good: bytes, chance: random.Random, most: int = 4) -> bytes:
    """Up to ``most`` changes: flipped bits, removed, doubled or swapped stretches, tokens."""
    data = bytearray(good)
    for _ in range(chance.randint(1, most)):
        at = chance.randrange(len(data) + 1)
        length = min(chance.choice((1, 1, 2, 8, 64, 512)), len(data) - at)
        match chance.randrange(6):
            case 0 | 1 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[at : at + length]
            case 4:
                data[at:at] = chance.choice(TOKENS)
            case _:
                data[at : at + length] = chance.randbytes(length)
    return bytes(data)


def changed_value(good: Any, chance: random.Random, most: int = 2) -> Any:
    """A copy of plain values (dicts, lists, scalars) with up to ``most`` leaves or branches replaced."""
    value = _copied(good)
    for _ in range(chance.randint(1, most)):
        places = list(_places(value))
        if not places:
            break
        holder, key = chance.choice(places)
        match chance.randrange(12):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, list):
                holder *= chance.choice((0, 2, 40))
            case 2 if isinstance(holder, dict):
                holder[chance.choice(("", "new", "=x", "\x1b"))] = holder.pop(key)
            case 3 | 4 if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
                holder[key] = holder[key] * chance.choice((-1, 0, 1e3, 1e9, 1e-9, 1e150))
            case _:
                holder[key] = _copied(chance.choice(HOSTILE))
    return value


def retyped(good: Any, chance: random.Random) -> Any:
    """As ``changed_value``, but each leaf becomes another of its type, and lists become shorter or longer."""
    value = _copied(good)
    for _ in range(chance.randint(1, 3)):
        places = list(_places(value))
        if not places:
            break
        holder, key = chance.choice(places)
        holder[key] = _alike(holder[key], chance)
    return value


def _alike(old: Any, chance: random.Random) -> Any:
    if isinstance(old, bool):
        return not old
    if old is None:
        return chance.choice(HOSTILE)
    if isinstance(old, list):
        return chance.choice(([], old[:1], old[:2], old * 3))
    if isinstance(old, dict):
        return {} if chance.randrange(2) else old
    alike = [one for one in HOSTILE if type(one) is type(old)]
    if isinstance(old, int | float) and not chance.randrange(3):
        factor = chance.choice((-1, 0, 1000, 1e-3, 1e9, 1e-9))
        return type(old)(old * factor)
    return chance.choice(alike) if alike else old


def _places(value: Any) -> Any:
    items: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in items:
        yield value, key
        if isinstance(below, dict | list):
            yield from _places(below)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(below) for key, below in value.items()}
    return [_copied(below) for below in value] if isinstance(value, list) else value
