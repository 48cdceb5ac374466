"""Broken traces, what is saved of them, and what is no trace at all."""

import gzip
import json
import random
import re
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.profiling.results.chrome_trace import TraceError
from roofscope.profiling.traces import repair, source
from roofscope.profiling.traces.reading import open_trace
from roofscope.profiling.traces.saving import repaired_json
from roofscope.tests.trace_events import (
    RECORDED,
    names_of,
    read,
    slice_,
    write_no_traces,
)
from roofscope.tests.traces import Planted, write_trace

# Broken traces


def broken(*middle: str | bytes) -> bytes:
    """Events of which some are written by hand, between sound ones."""
    sound = [json.dumps(slice_(f"op{at}", 10 * at, 5)).encode() for at in range(100)]
    bad = [each if isinstance(each, bytes) else each.encode() for each in middle]
    return b'{"traceEvents": [' + b",\n".join([*sound[:50], *bad, *sound[50:]]) + b'], "traceName": "t"}'


HAND = '{"ph": "X", "cat": "kernel", "name": "%s", "pid": 1, "tid": 2, "ts": 3, "dur": 4, "args": {"a": "b"}}'
MENDED = {
    HAND % 'k<"a">': 'k<"a">',
    HAND % 'k "a", "b" c': 'k "a", "b" c',
    HAND % "k\n\x01": "k\n\x01",
    HAND % r"k\q": r"k\q",
    HAND % r"k\ud800": "k\ufffd",
    HAND % r"k\\q\q": r"k\q\q",
    HAND % r"k\ud83e\uddff\udc00": "k\U0001f9ff\ufffd",
    HAND.replace('"b"', "NaN") % "k": "k",
    HAND.replace('"b"', "-Infinity") % "k": "k",
    HAND.replace('"b"', "[1, 2,]") % "k": "k",
}


@pytest.mark.parametrize(("written", "name"), MENDED.items())
def test_one_event_is_mended_and_the_others_stay(written: str, name: str) -> None:
    trace = read(broken(written))
    assert len(trace.slices) == 101
    assert name in trace.names
    assert (trace.health.repaired, trace.health.dropped) == (1, 0)
    assert trace.arguments_of(names_of(trace).index(name)).keys() == {"a"}


def test_each_event_among_many_broken_ones_keeps_its_place() -> None:
    """What stands between two faults is read at once; no event may take its neighbour's arguments."""
    events = [
        json.dumps(slice_(f"op{at}", 10 * at, 5, args={"at": at, "dims": [[at, 2], []]}))
        for at in range(2000)
    ]
    for at in range(0, 2000, 7):
        events[at] = events[at].replace(f'"op{at}"', f'"op{at} "of" "')
    trace = read('{"traceEvents": [' + ",\n  ".join(events) + "]}")
    assert (trace.health.event_count, trace.health.repaired, trace.health.dropped) == (2000, 286, 0)
    assert [trace.arguments_of(at) for at in range(2000)] == [
        {"at": at, "dims": [[at, 2], []]} for at in range(2000)
    ]
    assert trace.name_of(7) == 'op7 "of" '
    assert trace.name_of(8) == "op8"


@pytest.mark.parametrize(
    "sound",
    [
        '"a": "b", ',
        '"a": [1, -2.5, "x", []], "b": [[8192, 1024], [], ["", "[1]"]], ',
        '"a": {"b": true, "c": null, "d": {}}, "e": false, ',
        '"a": 007, "b": 1e999, "c": 99999999999999999999, ',
        '"a": "\x01", "b": "\\q", "c": ["\u00e9", "\u00e9"], ',
        '"a": "b" , \n"c":3,',
        '"": "", "a": [[[1]]], ',
        '"a": [1, ], "b": [1 2], ',
    ],
)
def test_what_is_taken_at_once_is_what_the_scanner_makes(sound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = ("{" + sound + '"name": "k<"a">", ' + sound + '"args": {' + sound + '"z": 1}}').encode()
    at_once = repair.mended(text, 0)
    monkeypatch.setattr(repair, "_SOUND", re.compile(rb"(?!)"))
    by_token = repair.mended(text, 0)
    if at_once is None or by_token is None:
        assert at_once == by_token
    else:
        assert (json.loads(at_once[0]), at_once[1]) == (json.loads(by_token[0]), by_token[1])


def test_an_integer_without_end_is_no_argument() -> None:
    trace = read(broken(HAND.replace('"b"', "9" * 5000 + ', "c": 1') % "k"))
    assert trace.arguments_of(names_of(trace).index("k")) == {"a": None, "c": 1}


def test_bytes_that_are_no_utf_8_are_mended() -> None:
    trace = read(broken((HAND % "k?").encode().replace(b"?", b"\xff")))
    assert "k\ufffd" in trace.names
    assert trace.health.repaired == 1


@pytest.mark.parametrize("written", [HAND[:-2] % "k", HAND[:30], '{"ph" "X"}', "{" * 50])
def test_one_event_is_dropped_and_the_others_stay(written: str) -> None:
    trace = read(broken(written))
    assert trace.health.dropped >= 1
    assert {f"op{at}" for at in range(100)} <= set(trace.names) | {"op50"}  # which may go with it


@pytest.mark.parametrize("other", ["null", "3", '"x"', "[1]", "[[{}]]", '[{"ph": "X"}]'])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_no_event_costs_none(other: str, place: int) -> None:
    events = [json.dumps(slice_("a", 1, 2)), json.dumps(slice_("b", 5, 2))]
    events.insert(place, other)
    trace = read('{"traceEvents": [' + ", ".join(events) + "]}")
    assert names_of(trace) == ["a", "b"]
    assert (trace.health.dropped, trace.health.is_cut) == (1, False)


def test_blanks_between_events_may_be_longer_than_a_chunk() -> None:
    first, second = (json.dumps(slice_(name, 1, 2)) for name in "ab")
    trace = read('{"traceEvents": [' + first + "," + " " * 3_000_000 + second + "]}")
    assert len(trace.slices) == 2
    assert trace.health.is_sound


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_trace_keeps_what_is_before_the_cut(share: float) -> None:
    whole = gzip.decompress((RECORDED / "block-eager.json.gz").read_bytes())
    trace = read(whole[: int(len(whole) * share)])
    assert trace.health.is_cut
    assert trace.health.dropped <= 1
    assert len(trace.slices) > 0


def test_a_gzip_file_that_ends_early_is_cut(tmp_path: Path) -> None:
    packed = (RECORDED / "block-eager.json.gz").read_bytes()
    path = tmp_path / "t.json.gz"
    path.write_bytes(packed[: len(packed) // 2])
    trace = open_trace(path)
    assert trace.health.is_cut
    assert len(trace.slices) > 500


def test_of_a_damaged_gzip_file_what_is_certain_is_read(tmp_path: Path) -> None:
    """Not what zlib unpacks of the damage before it notices."""
    noise = random.Random(1)
    events = [slice_(f"op{at}", at, 1, args={"noise": noise.random()}) for at in range(20_000)]
    packed = bytearray(gzip.compress(json.dumps({"traceEvents": events}).encode(), mtime=0))
    damage = len(packed) * 3 // 4
    packed[damage : damage + 40] = b"\xff" * 40
    path = tmp_path / "damaged.json.gz"
    path.write_bytes(packed)
    trace = open_trace(path)
    assert (trace.health.is_cut, trace.health.repaired) == (True, 0)
    assert 10_000 < len(trace.slices) < 15_000
    assert names_of(trace) == [f"op{at}" for at in range(len(trace.slices))]


def test_a_broken_trace_is_saved_repaired(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    made = write_trace(path, 30_000, planted=Planted(quotes=7, controls=5, is_cut=True))
    trace = open_trace(path)
    assert len(trace.slices) == made.slices
    assert trace.health.repaired == 24
    assert trace.health.is_cut
    saved = b"".join(repaired_json(trace))
    again = read(saved)
    assert again.health.is_sound
    assert names_of(again) == names_of(trace)
    assert json.loads(saved)["deviceProperties"][0]["name"] == "NVIDIA H200"


def test_what_stands_around_the_events_is_saved(tmp_path: Path) -> None:
    text = broken(HAND % '"k"').replace(b'{"traceEvents"', b'{"first": [1], "traceEvents"')
    assert list(json.loads(b"".join(repaired_json(read(text))))) == ["first", "traceEvents", "traceName"]


# What is no trace


def refusal(path: Path) -> str:
    with pytest.raises(TraceError) as raised:
        open_trace(path)
    said = str(raised.value)
    assert said.endswith(".")
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"   \n ", "begins with blanks"),
        (b"\n" * 1000 + b'{"traceEvents": []}', "begins with blanks, not with JSON"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 100, "is no JSON"),
        ('{"traceEvents": []}'.encode("utf-16"), "in UTF-16 or UTF-32"),
        (b"[" * 100_000, "is JSON but no trace"),
        (b'{"a":' * 100_000, "has no traceEvents"),
        (b'{"traceEvents": ' + b"[" * 100_000, "holds no event that can be read"),
        (b'{"traceEvents": [' + b'{"args":' * 100_000, "holds no event that can be read"),
        (b'{"traceEvents": [{"ph": "X", "ts": NaN, "dur": 1}]}', "no slice with a usable time"),
        (b'{"traceEvents": [{"ph": "X", "ts": 1, "dur": -1}]}', "no slice with a usable time"),
        (b'{"traceEvents": [{"ph": "X", "ts": 1e308, "dur": 1}]}', "no slice with a usable time"),
        (b"PK\x05\x06" + bytes(18), "holds no file"),
        (
            json.dumps([{**slice_("k", 1, 1), "tid": tid} for tid in range(10_500)]).encode(),
            "names more than 10000 threads",
        ),
        (gzip.compress(b"{}", mtime=0)[:8], "is damaged, and nothing sound can be unpacked"),
        (b'{"traceEvents": []}', "holds no slice"),
        (b'[{"ph": "M"}]', "holds no slice"),
        (b"[1, 2]", "is JSON but no trace"),
        (b'{"a": 1}', "has no traceEvents"),
        (b"PK\x03\x04" + b"x" * 50, "cannot be unpacked"),
        (b"\x1f\x8b" + b"x" * 50, "is damaged"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (gzip.compress(b"\x00" * 10_000_000, mtime=0), "begins with zeros"),
    ],
)
def test_what_is_no_trace_is_refused_in_a_sentence(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    assert said in refusal(path)


def test_the_command_line_says_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_FREE_OF_RATIO", 1 << 20)
    for path, said in write_no_traces(tmp_path).items():
        for command in (
            ("open",),
            ("roofline",),
            ("compare", str(path)),
            ("repair", str(tmp_path / "out.json")),
        ):
            word, *more = command
            ended = CliRunner().invoke(cli, ["trace", word, str(path), *more])
            assert ended.exit_code == 2, (path, word, ended.output)
            assert said in " ".join(ended.output.split())
            assert ended.output.count("\n") <= 2, "long names wrap"


def bomb() -> bytes:
    return b'{"traceEvents": [' + b" " * (4 << 20)


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_a_bomb_is_refused_before_it_fills_the_disk(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_FREE_OF_RATIO", 1 << 20)
    path = tmp_path / "t"
    if kind == "gzip":
        path.write_bytes(gzip.compress(bomb()))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.json", bomb())
    assert "times its size" in refusal(path)


def test_more_text_than_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_BYTES", 1 << 20)
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(bomb()))
    assert "holds more than" in refusal(path)


def test_a_sparse_file_of_5_gb_is_refused_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    with path.open("wb") as file:
        file.truncate(5 << 30)
    assert "begins with zeros" in refusal(path)
    with path.open("r+b") as file:
        file.write(b'{"traceEvents": [')
    assert "holds more than 4 GiB" in refusal(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)
    assert "is no file" in refusal(tmp_path / "missing.json")


def test_a_zip_file_of_several_traces_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", "{}")
        archive.writestr("b.json", "{}")
    assert "holds 2 traces" in refusal(path)
