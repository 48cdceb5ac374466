"""Light and dark on the whole application, chosen or followed."""

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.tokens import DARK, LIGHT, Scheme, Theme
from roofscope.app.window.theme import ThemeSwitch, apply_theme, palette_of
from roofscope.tests.contrast import contrast


def test_applying_a_scheme_colours_widgets_that_exist_already(qtbot: QtBot, qapp: QApplication) -> None:
    label = QLabel("text")
    qtbot.addWidget(label)
    label.show()
    for scheme, theme in ((Scheme.DARK, DARK), (Scheme.LIGHT, LIGHT)):
        assert apply_theme(qapp, scheme) is theme
        assert label.palette().color(QPalette.ColorRole.Window).name() == theme.window
        assert label.palette().color(QPalette.ColorRole.WindowText).name() == theme.text


def test_system_is_light_where_the_desktop_does_not_say(qapp: QApplication) -> None:
    assert apply_theme(qapp, Scheme.SYSTEM) is LIGHT  # offscreen: Unknown


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


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_every_text_role_can_be_read_on_its_ground(theme: Theme) -> None:
    palette, role = palette_of(theme), QPalette.ColorRole
    for text, ground in (
        (role.WindowText, role.Window),
        (role.Text, role.Base),
        (role.Text, role.AlternateBase),
        (role.ButtonText, role.Button),
        (role.HighlightedText, role.Highlight),
        (role.ToolTipText, role.ToolTipBase),
        (role.PlaceholderText, role.Base),
    ):
        assert contrast(palette.color(text).name(), palette.color(ground).name()) >= 4.5, text
