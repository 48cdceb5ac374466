"""What the window remembers, from files that are whole and from files that are not."""

import random
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray

from roofscope.app.presentation.tokens import Scheme
from roofscope.app.window.settings import Settings
from roofscope.tests.qt.conftest import OpenWindow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "window.json"


def filled(path: Path) -> Settings:
    settings = Settings(path)
    settings.scheme = Scheme.DARK
    settings.remember_session(Path("/a/old.roofscope"))
    settings.remember_session(Path("/a/new.roofscope"))
    settings.save_layout(QByteArray(b"geometry" * 8), QByteArray(bytes(range(256))))
    return settings


def test_a_new_window_knows_what_the_last_one_knew(path: Path) -> None:
    assert filled(path).problems == []
    again = Settings(path)
    assert again.scheme is Scheme.DARK
    assert again.recent_sessions == (Path("/a/new.roofscope"), Path("/a/old.roofscope"))
    assert again.layout == (QByteArray(b"geometry" * 8), QByteArray(bytes(range(256))))
    assert again.problems == []


def test_two_windows_keep_what_the_other_wrote(path: Path) -> None:
    one, other = filled(path), Settings(path)
    one.scheme = Scheme.LIGHT
    other.remember_session(Path("/b.roofscope"))
    assert Settings(path).scheme is Scheme.LIGHT
    assert Settings(path).recent_sessions[0] == Path("/b.roofscope")


@pytest.mark.parametrize(
    "content",
    [b"", b"[General]\nscheme=dark\n", b"\xff", b"[" * 100_000, b'{"scheme":"pink"}', b"{}" * 999_999],
    ids=["empty", "ini", "no UTF-8", "nested", "another value", "long"],
)
def test_a_damaged_file_is_set_aside_and_told(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    settings = Settings(path)
    assert settings.scheme is Scheme.SYSTEM
    [problem] = settings.problems
    assert "damaged" in problem
    assert path.with_name("window.json.damaged").read_bytes() == content
    settings.scheme = Scheme.DARK
    assert (Settings(path).scheme, Settings(path).problems) == (Scheme.DARK, [])


def test_no_changed_layout_reaches_qt(path: Path) -> None:
    """Qt took up to 130 s to make sense of one."""
    whole = filled(path).layout
    good, chance = path.read_bytes(), random.Random(5)
    for _ in range(2000):
        at = chance.randrange(len(good))
        path.write_bytes(good[:at] + bytes([good[at] ^ 1 << chance.randrange(8)]) + good[at + 1 :])
        settings = Settings(path)
        assert settings.layout == whole or not any(map(bytes, settings.layout))


def test_the_window_says_that_its_layout_is_damaged(
    open_window: OpenWindow, path: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "window.json"
    filled(kept)
    kept.write_bytes(kept.read_bytes().replace(b'"state":"AAEC', b'"state":"AAEB'))
    cards = open_window().panes.cards
    assert any("arrangement" in text for text in cards.notice_texts)


def test_what_cannot_be_kept_is_said_once(path: Path) -> None:
    path.parent.write_text("a file where the folder should be")
    settings = Settings(path)
    settings.scheme = Scheme.DARK
    settings.scheme = Scheme.LIGHT
    assert settings.scheme is Scheme.LIGHT
    assert len([problem for problem in settings.problems if "cannot be kept" in problem]) == 1


def test_a_recent_session_that_nobody_can_look_at_keeps_no_window_from_starting(
    open_window: OpenWindow, tmp_path: Path
) -> None:
    Settings(tmp_path / "window.json").remember_session(tmp_path / ("x" * 300))
    assert open_window().model.session.points == ()


def test_settings_of_a_newer_program_are_kept_beside_and_said_once(path: Path) -> None:
    path.parent.mkdir()
    newer = b'{"version":99,"scheme":"dark","later":[1,2]}'
    path.write_bytes(newer)
    settings = Settings(path)
    assert "newer Roofscope" in settings.problems[0]
    settings.scheme = Scheme.LIGHT
    assert path.with_name("window.json.newer").read_bytes() == newer
    assert (Settings(path).scheme, Settings(path).problems) == (Scheme.LIGHT, [])


def test_a_newer_program_that_runs_beside_keeps_its_settings(path: Path) -> None:
    settings = filled(path)
    newer = b'{"version":99,"scheme":"dark","later":[1,2]}'
    path.write_bytes(newer)
    settings.scheme = Scheme.LIGHT
    assert settings.scheme is Scheme.LIGHT
    assert path.read_bytes() == newer


def test_what_cannot_be_kept_is_said_in_the_window(open_window: OpenWindow, tmp_path: Path) -> None:
    (tmp_path / "window.json.part").mkdir()  # so that nothing can be written
    application = open_window()
    application.settings.scheme = Scheme.LIGHT
    application.settings.scheme = Scheme.DARK
    told = [text for text in application.panes.cards.notice_texts if "cannot be kept" in text]
    assert len(told) == 1
