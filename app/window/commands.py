"""Every command of the window, stated once: menus, toolbar, shortcuts and the list of them read this."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from roofscope.app.window.widgets.labels import tip_text


class Menu(StrEnum):
    FILE = "&File"
    EDIT = "&Edit"
    RUN = "&Run"
    VIEW = "&View"
    HELP = "&Help"


class CommandId(StrEnum):
    OPEN = "open"
    SAVE = "save"
    SAVE_AS = "save_as"
    NEW = "new"
    EXPORT = "export"
    KERNELS = "kernels"
    QUIT = "quit"
    COPY = "copy"
    COPY_MARKDOWN = "copy_markdown"
    FIND = "find"
    RUN = "run"
    STOP = "stop"
    MORE_TIME = "more_time"
    PROBE = "probe"
    TRACE = "trace"
    PIN = "pin"
    THEME_SYSTEM = "theme_system"
    THEME_LIGHT = "theme_light"
    THEME_DARK = "theme_dark"
    RESET_LAYOUT = "reset_layout"
    PROJECT = "project"
    DOCTOR = "doctor"
    SHORTCUTS = "shortcuts"
    ABOUT = "about"


class Command(Struct, frozen=True):
    """``keys`` are portable key texts; an ``icon`` is a file of assets/icons."""

    id: CommandId
    menu: Menu
    text: str
    tip: str
    keys: str = ""
    icon: str = ""
    is_choice: bool = False  # one of a group, of which one is ticked
    starts_group: bool = False  # a separator stands before it


COMMANDS = (
    Command(CommandId.OPEN, Menu.FILE, "&Open session...", "Open a session file", "Ctrl+O", "folder-open"),
    Command(
        CommandId.NEW,
        Menu.FILE,
        "&New session",
        "Start an empty session on the chosen device",
        "Ctrl+N",
        "file-plus",
    ),
    Command(
        CommandId.SAVE,
        Menu.FILE,
        "&Save",
        "Keep this session under a name; every result is on disk already",
        "Ctrl+S",
        "save",
        starts_group=True,
    ),
    Command(
        CommandId.SAVE_AS,
        Menu.FILE,
        "Save &as...",
        "Write a copy of this session to another file",
        "Ctrl+Shift+S",
    ),
    Command(
        CommandId.EXPORT,
        Menu.FILE,
        "&Export...",
        "Write the chart or the results as PNG, SVG, CSV or JSON",
        "Ctrl+E",
        "download",
    ),
    Command(
        CommandId.KERNELS,
        Menu.FILE,
        "&Kernel folders...",
        "Use kernels of your own beside the program's",
        starts_group=True,
    ),
    Command(
        CommandId.QUIT, Menu.FILE, "&Quit", "Close the window; a run is stopped", "Ctrl+Q", starts_group=True
    ),
    Command(CommandId.COPY, Menu.EDIT, "&Copy rows", "Copy the selected rows as a table", "Ctrl+C", "copy"),
    Command(
        CommandId.COPY_MARKDOWN,
        Menu.EDIT,
        "Copy as &Markdown",
        "Copy the selected rows as a Markdown table",
        "Ctrl+Shift+C",
    ),
    Command(
        CommandId.FIND,
        Menu.EDIT,
        "&Find...",
        "Search in the library or the results",
        "Ctrl+F",
        "search",
        starts_group=True,
    ),
    Command(CommandId.RUN, Menu.RUN, "&Run", "Measure what is ticked on the chosen device", "F5", "play"),
    Command(
        CommandId.STOP,
        Menu.RUN,
        "&Stop",
        "Stop after the current block; once more ends the worker",
        "Shift+F5",
        "square",
    ),
    Command(
        CommandId.MORE_TIME,
        Menu.RUN,
        "Give it more &time",
        "Wait twice as long for a kernel that does not answer",
        "Ctrl+T",
    ),
    Command(
        CommandId.PROBE,
        Menu.RUN,
        "Measure &ceilings",
        "Measure the chosen device's ceilings again",
        "F6",
        "gauge",
        starts_group=True,
    ),
    Command(
        CommandId.TRACE,
        Menu.RUN,
        "Record &trace",
        "Record a profiler trace of the selected point",
        "F7",
        "activity",
    ),
    Command(
        CommandId.PIN,
        Menu.RUN,
        "Pin as &baseline",
        "Compare others of the same workload with the selected point",
        "Ctrl+B",
        "pin",
    ),
    Command(CommandId.THEME_SYSTEM, Menu.VIEW, "Theme of the s&ystem", "Follow the desktop", is_choice=True),
    Command(CommandId.THEME_LIGHT, Menu.VIEW, "&Light theme", "Dark text on light", is_choice=True),
    Command(CommandId.THEME_DARK, Menu.VIEW, "&Dark theme", "Light text on dark", is_choice=True),
    Command(
        CommandId.PROJECT,
        Menu.VIEW,
        "&Project onto...",
        "Bound the points by another GPU's data sheet",
        "Ctrl+J",
        starts_group=True,
    ),
    Command(
        CommandId.RESET_LAYOUT,
        Menu.VIEW,
        "&Reset layout",
        "Put every pane back in its place",
        starts_group=True,
    ),
    Command(
        CommandId.DOCTOR,
        Menu.HELP,
        "&Doctor",
        "What is available here, what is missing, and the fix",
        "F8",
        "stethoscope",
    ),
    Command(CommandId.SHORTCUTS, Menu.HELP, "&Shortcuts", "List every command and its keys", "?", "keyboard"),
    Command(CommandId.ABOUT, Menu.HELP, "&About Roofscope", "Version and licence", starts_group=True),
)

# What the chart's own keys do while it has the focus: they are no commands, but people look for them.
CHART_KEYS = (
    ("Fit the chart", "F", "Show the whole roofline"),
    ("Step back in the chart", "Esc", "Show all kernels and dtypes again, then select nothing"),
    ("Next point", "Right or Down", "Select the next point in the order of intensity"),
    ("Previous point", "Left or Up", "Select the point before"),
)


class Actions:
    """One QAction per command, owned by the window."""

    def __init__(self, owner: QWidget) -> None:
        self._actions: dict[CommandId, QAction] = {}
        for command in COMMANDS:
            action = QAction(command.text, owner)
            action.setObjectName(command.id)
            action.setToolTip(tip_text(tool_tip(command)))
            action.setCheckable(command.is_choice)
            if command.keys:
                action.setShortcut(QKeySequence(command.keys, QKeySequence.SequenceFormat.PortableText))
            owner.addAction(action)
            self._actions[command.id] = action

    def __getitem__(self, command: CommandId) -> QAction:
        return self._actions[command]

    def connect(self, handlers: Mapping[CommandId, Callable[[], object]]) -> None:
        """Give each command what it does."""
        for command, handler in handlers.items():
            self._actions[command].triggered.connect(lambda _checked=False, call=handler: call())


def tool_tip(command: Command) -> str:
    return f"{command.tip} ({command.keys})" if command.keys else command.tip


def plain_text(command: Command) -> str:
    """A command's text without mnemonic and dots."""
    return command.text.replace("&", "").removesuffix("...")
