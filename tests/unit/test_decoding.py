"""JSON from outside becomes a value or one named error."""

import msgspec
import pytest

from roofscope.profiling.decoding import UnreadableError, decode


class Item(msgspec.Struct):
    text: str = ""
    number: float = 0.0
    count: int = 0
    counts: dict[str, tuple[int, ...]] = {}


BAD = {
    "nothing": b"",
    "half": b'{"text":',
    "no UTF-8": b'{"text":"\xff"}',
    "a surrogate in text": '{"text":"\ud800"}',
    "a surrogate": b'{"text":"\\ud800"}',
    "nested": b"[" * 100_000,
    "nested where nobody looks": b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "not a number": b'{"number":NaN}',
    "infinite": b'{"number":1e999}',
    "a long number": b'{"number":1' + b"0" * 5000 + b"}",
    "a count of 300 digits": b'{"count":1' + b"0" * 300 + b"}",
    "a count of 5000 digits": b'{"count":1' + b"0" * 5000 + b"}",
    "a deep count": b'{"counts":{"a":[1, 2, -99999999999999999999]}}',
    "another type": b'{"count":1.5}',
    "a number in SQLite's column": 17,
    "NULL in SQLite's column": None,
    "longer than allowed": b'{"text":"' + b"x" * 2_000_000 + b'"}',
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_what_cannot_be_read_has_one_error(data: bytes) -> None:
    with pytest.raises(UnreadableError, match=r".{5,}"):
        decode(data, Item, most_bytes=1_000_000)


def test_what_can_be_read_is_the_value() -> None:
    digits = "12345678901234567890123"
    item = Item(digits, 0.00012345678901234567, 2**63 - 1, {digits: (-(2**63), 5)})
    assert decode(msgspec.json.encode(item), Item) == item
    assert decode(msgspec.json.encode(item).decode(), Item) == item
