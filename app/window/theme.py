"""Light and dark: Fusion with an explicit palette, and a style sheet only where a palette cannot reach."""

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from roofscope.app.presentation.tokens import DARK, LIGHT, Scheme, Theme
from roofscope.app.window.style_sheet import application_style

_HAS_STYLE = "roofscopeHasStyle"


class ThemeSwitch(QObject):
    """Holds the chosen scheme, follows the desktop under ``system``, and tells views of a change."""

    changed = Signal(object)  # Theme

    def __init__(self, app: QApplication, scheme: Scheme = Scheme.SYSTEM) -> None:
        super().__init__(app)
        self._app = app
        self._scheme = scheme
        self._theme = apply_theme(app, scheme)
        app.styleHints().colorSchemeChanged.connect(self._follow_desktop)

    @property
    def theme(self) -> Theme:
        return self._theme

    @property
    def scheme(self) -> Scheme:
        return self._scheme

    def choose(self, scheme: Scheme) -> None:
        self._scheme = scheme
        theme = apply_theme(self._app, scheme)
        if theme != self._theme:
            self._theme = theme
            self.changed.emit(theme)

    def _follow_desktop(self) -> None:
        if self._scheme is Scheme.SYSTEM:
            self.choose(Scheme.SYSTEM)


def apply_theme(app: QApplication, scheme: Scheme | str) -> Theme:
    """Style the whole application; returns the colours for views that paint themselves."""
    theme = _resolve(app, Scheme(scheme))
    if not app.property(_HAS_STYLE):  # setting it again polishes every widget: a fifth of a second
        # Else a style sheet keeps fonts and palettes from reaching the widgets within a widget.
        app.setAttribute(Qt.ApplicationAttribute.AA_UseStyleSheetPropagationInWidgetStyles)
        app.setStyle("Fusion")
        app.setProperty(_HAS_STYLE, True)
    app.setPalette(palette_of(theme))
    app.setStyleSheet(application_style(theme))
    return theme


def palette_of(theme: Theme) -> QPalette:
    """The theme as Qt's roles, disabled state included."""
    role = QPalette.ColorRole
    palette = QPalette()
    for colour_role, colour in (
        (role.Window, theme.window),
        (role.WindowText, theme.text),
        (role.Base, theme.surface),
        (role.AlternateBase, theme.window),
        (role.Text, theme.text),
        (role.Button, theme.raised),
        (role.ButtonText, theme.text),
        (role.BrightText, theme.bad),
        (role.ToolTipBase, theme.raised),
        (role.ToolTipText, theme.text),
        (role.PlaceholderText, theme.text_muted),
        (role.Highlight, theme.accent),
        (role.HighlightedText, theme.on_accent),
        (role.Accent, theme.accent),
        (role.Link, theme.accent),
        (role.LinkVisited, theme.accent),
        (role.Light, theme.raised),
        (role.Midlight, theme.hover),
        (role.Mid, theme.border),
        (role.Dark, theme.border),
        (role.Shadow, theme.border),
    ):
        palette.setColor(colour_role, QColor(colour))
    for colour_role in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, colour_role, QColor(theme.axis))
    return palette


def _resolve(app: QApplication, scheme: Scheme) -> Theme:
    if scheme is Scheme.SYSTEM:
        # Unknown on a bare X server and offscreen: light, so that pictures do not depend on luck.
        dark = app.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return DARK if dark else LIGHT
    return DARK if scheme is Scheme.DARK else LIGHT
