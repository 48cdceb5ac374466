"""Light, dark and high contrast: Fusion with an explicit palette; the window adds its style sheet."""

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QPalette, QStyleHints
from PySide6.QtWidgets import QApplication

from roofscope.app.presentation.tokens import CONTRAST, DARK, LIGHT, Scheme, Theme

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
    match scheme:
        case Scheme.SYSTEM:
            hints = app.styleHints()
            if _wants_contrast(hints):
                return CONTRAST
            # Unknown on a bare X server and offscreen: light, so that pictures do not depend on luck.
            return DARK if hints.colorScheme() is Qt.ColorScheme.Dark else LIGHT
        case Scheme.LIGHT:
            return LIGHT
        case Scheme.DARK:
            return DARK
        case Scheme.CONTRAST:
            return CONTRAST


def _wants_contrast(hints: QStyleHints) -> bool:
    """Whether the desktop asks for high contrast; Qt tells from 6.10 on."""
    accessibility = getattr(hints, "accessibility", None)
    if accessibility is None:
        return False
    preference = getattr(accessibility(), "contrastPreference", None)
    return preference is not None and "High" in str(preference())
