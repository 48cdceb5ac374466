"""Generated code in a session: bounded, packed, with a checksum, salvaged like traces."""

import contextlib
import gzip
import sqlite3
import zlib
from pathlib import Path

import pytest

from roofscope.profiling.results import session_contents
from roofscope.profiling.results.generated import (
    MOST_BYTES,
    MOST_TEXTS,
    Code,
    CodeError,
    CodeKind,
    bounded,
    pack,
    unpack,
)
from roofscope.profiling.results.session_reader import SessionError, load, load_code, read
from roofscope.profiling.results.session_writer import SessionStore, copy
from roofscope.tests.sessions import make_session

POINT = make_session().points[0]
CODES = (Code(CodeKind.TTIR, "softmax", "module {}"), Code(CodeKind.SASS, "softmax", "EXIT ;\n" * 2000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.roofscope"
    with SessionStore.create(path) as store:
        store.add_outcome(POINT.job, POINT.implementation, POINT.outcome)
        store.add_code(POINT.job, POINT.implementation, CODES)
    return path


def test_what_was_kept_comes_back(path: Path) -> None:
    session = load(path)
    [kept] = session.codes
    assert (kept.job, kept.implementation) == (POINT.job, POINT.implementation)
    assert kept.byte_count < len(CODES[1].text)
    assert load_code(path, kept.number) == CODES
    with pytest.raises(SessionError, match="holds no generated code 7"):
        load_code(path, 7)


def test_a_text_is_cut_with_a_word_and_too_many_are_left_out() -> None:
    [cut] = bounded([Code(CodeKind.PTX, "x" * 1000, "é" * MOST_BYTES)])
    assert len(cut.text.encode()) <= MOST_BYTES + 100
    assert cut.text.endswith("[cut here: the compiler wrote more than a session keeps]\n")
    assert len(cut.name) == 200
    assert len(bounded(Code(CodeKind.PTX, str(i), "") for i in range(1000))) == MOST_TEXTS + 1
    together = bounded(Code(CodeKind.PTX, str(i), "a" * MOST_BYTES) for i in range(40))
    assert sum(len(code.text) for code in together) <= 16 << 20
    [kept, left_out] = unpack(pack(Code(CodeKind.PTX, str(i), "\x01" * MOST_BYTES) for i in range(9)))
    assert (kept.name, left_out.name) == ("0", "1")
    assert left_out.text.startswith("[left out, with what follows: the compiler made more code")


@pytest.mark.parametrize("text", ["", "a" * MOST_BYTES, "\x01" * MOST_BYTES])
def test_what_is_bounded_again_stays_as_it_is(text: str) -> None:
    """As in the candidate's process, in the referee's and in the session."""
    once = bounded(Code(CodeKind.PTX, str(i), text) for i in range(200))
    assert bounded(once) == once


def test_halves_of_characters_are_stored_as_question_marks() -> None:
    assert unpack(pack([Code(CodeKind.PTX, "\ud800", "a\udfff")])) == (Code(CodeKind.PTX, "?", "a?"),)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no gzip", "is no gzip file"),
        (gzip.compress(b"[1]", mtime=0), "cannot be read"),
        (gzip.compress(b'[{"kind": "mood", "name": "", "text": ""}]', mtime=0), "cannot be read"),
        (zlib.compressobj(9, wbits=31).compress(b" "), "cannot be read"),
    ],
)
def test_what_is_no_code_is_refused_in_a_sentence(content: bytes, words: str) -> None:
    with pytest.raises(CodeError, match=words):
        unpack(content)


def test_code_that_unpacks_without_end_is_refused() -> None:
    with pytest.raises(CodeError, match="unpacks to more than a session keeps"):
        unpack(gzip.compress(b" " * (33 << 20)))


def test_more_texts_than_are_kept_are_refused() -> None:
    many = b"[%s]" % b",".join([b'{"kind": "ptx", "name": "", "text": ""}'] * (MOST_TEXTS + 2))
    with pytest.raises(CodeError, match="cannot be read"):
        unpack(gzip.compress(many))


@pytest.mark.parametrize("with_traces", [False, True])
def test_packed_code_has_a_bound_of_its_own(
    path: Path, with_traces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    [kept] = load(path).codes
    monkeypatch.setitem(session_contents.MOST_PACKED_BYTES, "code", kept.byte_count - 1)
    reading = read(path, with_traces=with_traces)
    assert reading.session.codes == ()
    assert reading.session.problems[0].startswith("1 of 1 generated code is damaged and left out")


@pytest.mark.parametrize("with_traces", [False, True])
def test_packed_bytes_are_counted_by_themselves(
    path: Path, with_traces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    [kept] = load(path).codes
    monkeypatch.setattr(session_contents, "_MOST_PACKED_BYTES", kept.byte_count)
    before = read(path, with_traces=False).contents.byte_count
    assert read(path, with_traces=with_traces).contents.byte_count == before
    monkeypatch.setattr(session_contents, "_MOST_PACKED_BYTES", kept.byte_count - 1)
    with pytest.raises(SessionError, match="holds more than a session does"):
        read(path, with_traces=with_traces)


def test_a_changed_byte_is_noticed(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        [[packed]] = connection.execute("SELECT codes_json_gz FROM code")
        changed = bytes([packed[0] ^ 1]) + packed[1:]
        connection.execute("UPDATE code SET codes_json_gz = ?", (changed,))
        connection.commit()
    with pytest.raises(SessionError, match=r"generated code 1 of .* is damaged; measure its point again"):
        load_code(path, 1)
    copy(path, path.with_name("b.roofscope"))


def test_a_changed_row_and_a_lost_one_are_left_out_and_said(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE code SET recorded_at = '2020-01-01T00:00:00+00:00'")
        connection.commit()
    assert load(path).problems[0].startswith("1 of 1 generated code is damaged and left out")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM code")
        connection.commit()
    session = load(path)
    assert session.is_damaged
    assert len(session.points) == 1


def test_code_is_found_in_the_pages_and_saved_with_what_is_whole(path: Path) -> None:
    path.write_bytes(b"\xff" * 100 + path.read_bytes()[100:])
    assert load_code(path, 1) == CODES
    target = path.with_name("whole.roofscope")
    copy(path, target)
    assert load_code(target, 1) == CODES
    assert load(target).problems == ()
