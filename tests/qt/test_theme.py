"""Light and dark on the whole application, chosen or followed."""

from pathlib import Path

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.tokens import CONTRAST, DARK, LIGHT, Scheme, Theme
from roofscope.app.window import theme
from roofscope.app.window.commands import CommandId
from roofscope.app.window.theme import ThemeSwitch, apply_theme, palette_of
from roofscope.tests.contrast import contrast
from roofscope.tests.qt.conftest import OpenWindow


def test_applying_a_scheme_colours_widgets_that_exist_already(qtbot: QtBot, qapp: QApplication) -> None:
    label = QLabel("text")
    qtbot.addWidget(label)
    label.show()
    for scheme, wanted in ((Scheme.DARK, DARK), (Scheme.LIGHT, LIGHT)):
        assert apply_theme(qapp, scheme) is wanted
        qapp.processEvents()
        assert label.palette().color(QPalette.ColorRole.Window).name() == wanted.window
        assert label.palette().color(QPalette.ColorRole.WindowText).name() == wanted.text


def test_system_is_light_where_the_desktop_does_not_say(qapp: QApplication) -> None:
    assert apply_theme(qapp, Scheme.SYSTEM) is LIGHT  # offscreen: Unknown


def test_a_desktop_of_high_contrast_is_followed(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    """Qt tells of it from 6.10 on; before that there is nothing to follow."""
    monkeypatch.setattr(theme, "_wants_contrast", lambda hints: True)
    try:
        assert apply_theme(qapp, Scheme.SYSTEM) is CONTRAST
        assert apply_theme(qapp, Scheme.LIGHT) is LIGHT
    finally:
        apply_theme(qapp, Scheme.LIGHT)


def test_the_switch_tells_of_a_change_and_only_of_a_change(qtbot: QtBot, qapp: QApplication) -> None:
    switch = ThemeSwitch(qapp, Scheme.LIGHT)
    try:
        with qtbot.waitSignal(switch.changed) as told:
            switch.choose(Scheme.DARK)
        assert told.args == [DARK]
        assert (switch.theme, switch.scheme) == (DARK, Scheme.DARK)
        with qtbot.assertNotEmitted(switch.changed):
            switch.choose(Scheme.DARK)
    finally:
        switch.choose(Scheme.LIGHT)
        switch.setParent(None)


@pytest.mark.parametrize("shown", [LIGHT, DARK, CONTRAST], ids=lambda theme: theme.name)
def test_every_text_role_can_be_read_on_its_ground(shown: Theme) -> None:
    palette, role = palette_of(shown), QPalette.ColorRole
    least = 7 if shown is CONTRAST else 4.5
    for text, ground in (
        (role.WindowText, role.Window),
        (role.Text, role.Base),
        (role.Text, role.AlternateBase),
        (role.ButtonText, role.Button),
        (role.HighlightedText, role.Highlight),
        (role.ToolTipText, role.ToolTipBase),
        (role.PlaceholderText, role.Base),
    ):
        assert contrast(palette.color(text).name(), palette.color(ground).name()) >= least, text


def test_a_window_changes_its_theme_in_many_short_steps(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot
) -> None:
    window = open_window(session_file).window
    parts = [child for child in window.children() if isinstance(child, QWidget) and child.isVisible()]
    window.actions_of[CommandId.THEME_DARK].trigger()
    try:
        assert window.restyling.is_under_way  # nothing of it has held the window up
        qtbot.waitUntil(lambda: not window.restyling.is_under_way)
        assert all(part.updatesEnabled() for part in parts)
        assert all(DARK.accent in part.styleSheet() for part in parts)
        assert window.styleSheet() == QApplication.instance().styleSheet() == ""
    finally:
        window.actions_of[CommandId.THEME_SYSTEM].trigger()


def test_a_dialog_that_comes_later_has_the_theme(open_window: OpenWindow, qtbot: QtBot) -> None:
    window = open_window().window
    dialog = QDialog(window)
    dialog.show()
    qtbot.waitUntil(lambda: LIGHT.accent in dialog.styleSheet())


def test_larger_text_reaches_every_part_and_is_remembered(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot
) -> None:
    first = open_window(session_file)
    first.selection.select(first.table.point_at(0).number)
    window = first.window
    usual = QApplication.font().pointSizeF()
    chart, title = first.panes.chart.plot.text_font.height, first.panes.details.title_font().pointSizeF()
    try:
        for _ in range(4):
            window.actions_of[CommandId.LARGER].trigger()
        qtbot.waitUntil(lambda: not window.restyling.is_under_way)
        assert first.text_size.percent == 175
        assert first.panes.results.view.font().pointSizeF() == pytest.approx(1.75 * usual)
        assert first.panes.chart.plot.text_font.height > 1.5 * chart
        assert first.panes.details.title_font().pointSizeF() > 1.6 * title
        window.close()
        second = open_window(session_file)
        assert second.text_size.percent == 175
        second.window.actions_of[CommandId.SMALLER].trigger()
        assert second.text_size.percent == 150
    finally:
        first.text_size.choose(100)
        second.text_size.choose(100)
    assert QApplication.font().pointSizeF() == pytest.approx(usual)
