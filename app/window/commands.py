"""Every command of the window, stated once: menus, toolbar, shortcuts and the list of them read this."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct
from PySide6.QtCore import Qt
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
    COMPARE = "compare"
    EXAMPLE = "example"
    SAVE = "save"
    SAVE_AS = "save_as"
    NEW = "new"
    EXPORT = "export"
    RENAME = "rename"
    TRASH = "trash"
    REPORT = "report"
    OPEN_KERNEL = "open_kernel"
    OPEN_TRACE = "open_trace"
    KERNELS = "kernels"
    QUIT = "quit"
    UNDO = "undo"
    REDO = "redo"
    COPY = "copy"
    COPY_MARKDOWN = "copy_markdown"
    FIND = "find"
    SETTINGS = "settings"
    RUN = "run"
    STOP = "stop"
    MORE_TIME = "more_time"
    KEEP_CODE = "keep_code"
    LIVE = "live"
    PROBE = "probe"
    TRACE = "trace"
    COUNT = "count"
    COUNTERS_FROM = "counters_from"
    PIN = "pin"
    NOTE = "note"
    HIDE = "hide"
    DELETE = "delete"
    BRING_BACK = "bring_back"
    SHOW_HIDDEN = "show_hidden"
    TRY_AGAIN = "try_again"
    DEBUG = "debug"
    PALETTE = "palette"
    TUNING = "tuning"
    MESSAGES = "messages"
    THEME_SYSTEM = "theme_system"
    THEME_LIGHT = "theme_light"
    THEME_DARK = "theme_dark"
    THEME_CONTRAST = "theme_contrast"
    LARGER = "larger"
    SMALLER = "smaller"
    USUAL_SIZE = "usual_size"
    LAYOUT_MEASURE = "layout_measure"
    LAYOUT_ANALYSE = "layout_analyse"
    LAYOUT_PRESENT = "layout_present"
    RESET_LAYOUT = "reset_layout"
    FULL_SCREEN = "full_screen"
    NEXT_PANE = "next_pane"
    PREVIOUS_PANE = "previous_pane"
    LESSON = "lesson"
    PROJECT = "project"
    DOCTOR = "doctor"
    DEVICE_SHEET = "device_sheet"
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
    is_local: bool = False  # its keys count where points have the focus, and not in a text
    is_toggle: bool = False  # ticked or not, by itself
    starts_group: bool = False  # a separator stands before it
    also_in: Menu | None = None  # another menu where people look for it
    inside: str = ""  # the menu within its menu


COMMANDS = (
    Command(CommandId.OPEN, Menu.FILE, "&Open session...", "Open a session file", "Ctrl+O", "folder-open"),
    Command(
        CommandId.EXAMPLE,
        Menu.FILE,
        "Open e&xample",
        "Look at a session that was recorded on an H200",
        also_in=Menu.HELP,
    ),
    Command(
        CommandId.NEW,
        Menu.FILE,
        "&New session",
        "Start an empty session on the chosen device",
        "Ctrl+N",
        "file-plus",
    ),
    Command(
        CommandId.COMPARE,
        Menu.FILE,
        "&Compare with...",
        "Set another session beside this one, point by point",
        "Ctrl+Shift+O",
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
    Command(CommandId.RENAME, Menu.FILE, "Rena&me...", "Give this session's file another name", "F2"),
    Command(
        CommandId.TRASH,
        Menu.FILE,
        "Move to &trash",
        "Put this session's file into the trash; Undo brings it back",
    ),
    Command(
        CommandId.REPORT,
        Menu.FILE,
        "Re&port...",
        "Write this session as one HTML page: chart, sweeps, tables, sources",
        "Ctrl+Shift+E",
    ),
    Command(
        CommandId.OPEN_KERNEL,
        Menu.FILE,
        "Open &kernel...",
        "Measure a file of yours as it stands: Triton, PyTorch, CUDA or C++",
        "Ctrl+Alt+O",
        starts_group=True,
    ),
    Command(
        CommandId.OPEN_TRACE,
        Menu.FILE,
        "Open prof&iler trace...",
        "Look at a trace of torch.profiler, of a whole model too: .json, .json.gz or .zip",
        "Ctrl+Alt+T",
        "activity",
    ),
    Command(
        CommandId.KERNELS,
        Menu.FILE,
        "Kernel &folders...",
        "Use kernels of your own beside the program's",
    ),
    Command(
        CommandId.QUIT, Menu.FILE, "&Quit", "Close the window; a run is stopped", "Ctrl+Q", starts_group=True
    ),
    Command(CommandId.UNDO, Menu.EDIT, "&Undo", "Take the last step back", "Ctrl+Z", "rotate-ccw"),
    Command(CommandId.REDO, Menu.EDIT, "&Redo", "Take the step again", "Ctrl+Shift+Z"),
    Command(
        CommandId.COPY,
        Menu.EDIT,
        "&Copy rows",
        "Copy the selected rows as a table",
        "Ctrl+C",
        "copy",
        starts_group=True,
    ),
    Command(
        CommandId.COPY_MARKDOWN,
        Menu.EDIT,
        "Copy as &Markdown",
        "Copy the selected rows as a Markdown table",
        "Ctrl+Shift+C",
    ),
    Command(
        CommandId.DELETE,
        Menu.EDIT,
        "&Delete points",
        "Leave the selected points out of this session; Undo brings them back",
        "Del",
        is_local=True,
        starts_group=True,
    ),
    Command(
        CommandId.BRING_BACK,
        Menu.EDIT,
        "&Bring back deleted points",
        "Have every deleted point of this session again",
    ),
    Command(
        CommandId.FIND,
        Menu.EDIT,
        "&Find...",
        "Filter results and chart; in the library, or pressed once more, search the library",
        "Ctrl+F",
        "search",
        starts_group=True,
    ),
    Command(
        CommandId.SETTINGS,
        Menu.EDIT,
        "&Settings...",
        "What the window remembers, and how it looks",
        "Ctrl+,",
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
        "Give it m&ore time",
        "Wait twice as long for a kernel that does not answer",
        "Ctrl+T",
    ),
    Command(
        CommandId.KEEP_CODE,
        Menu.RUN,
        "Keep &generated code",
        "Store what compilers make (PTX, SASS, Inductor's code) with each result, for the Source pane",
        is_toggle=True,
    ),
    Command(
        CommandId.LIVE,
        Menu.RUN,
        "Measure when sa&ved",
        "Measure a version again whenever one of its files is saved; its time of before stays as a ghost",
        "Ctrl+L",
        is_toggle=True,
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
        "Record a profiler trace of the selected points",
        "F7",
        "activity",
    ),
    Command(
        CommandId.COUNT,
        Menu.RUN,
        "Count &bytes",
        "Count by Nsight Compute what the selected point moves at DRAM, L2 and L1",
        "Shift+F7",
    ),
    Command(
        CommandId.COUNTERS_FROM,
        Menu.RUN,
        "Counters &from a report...",
        "Take the selected point's counters from a report of Nsight Compute",
    ),
    Command(
        CommandId.PIN,
        Menu.RUN,
        "&Pin",
        "Keep the selected point in sight: the first one pinned is the baseline of its workload",
        "Ctrl+B",
        "pin",
    ),
    Command(
        CommandId.NOTE,
        Menu.RUN,
        "&Note and tags...",
        "Write down what is to be remembered of the selected point",
        "Ctrl+M",
    ),
    Command(
        CommandId.TRY_AGAIN,
        Menu.RUN,
        "Try aga&in",
        "Measure the selected version again, also where it is paused",
        "Ctrl+R",
    ),
    Command(
        CommandId.DEBUG,
        Menu.RUN,
        "&Debug",
        "Run the selected version once where each access is checked, and name its mistakes",
        "Ctrl+D",
    ),
    Command(
        CommandId.PALETTE,
        Menu.VIEW,
        "&Command palette...",
        "Find any command, kernel or point by a few letters",
        "Ctrl+Shift+P",
        "search",
    ),
    Command(
        CommandId.PROJECT,
        Menu.VIEW,
        "Pro&ject onto...",
        "Bound the points by another GPU's data sheet",
        "Ctrl+J",
    ),
    Command(
        CommandId.TUNING,
        Menu.VIEW,
        "What t&uning tried",
        "All configurations that the selected point's autotuner tried, each with its time or a reason",
        "Ctrl+U",
    ),
    Command(CommandId.MESSAGES, Menu.VIEW, "&Messages...", "Every message that stands", "Ctrl+Shift+M"),
    Command(
        CommandId.HIDE,
        Menu.VIEW,
        "&Hide points",
        "Leave the selected points out of every view",
        "Ctrl+H",
        starts_group=True,
    ),
    Command(
        CommandId.SHOW_HIDDEN,
        Menu.VIEW,
        "Sho&w hidden points",
        "Show again what was hidden point by point",
        "Ctrl+Shift+H",
    ),
    *(
        Command(id, Menu.VIEW, text, tip, is_choice=True, inside="&Theme")
        for id, text, tip in (
            (CommandId.THEME_SYSTEM, "As the s&ystem", "Follow the desktop"),
            (CommandId.THEME_LIGHT, "&Light", "Dark text on light"),
            (CommandId.THEME_DARK, "&Dark", "Light text on dark"),
            (CommandId.THEME_CONTRAST, "&High contrast", "Text of 7:1 and marks of 4.5:1 on black"),
        )
    ),
    *(
        Command(id, Menu.VIEW, text, tip, keys, inside="T&ext size")
        for id, text, tip, keys in (
            (CommandId.LARGER, "&Larger text", "Larger text in the window and the chart", "Ctrl++"),
            (CommandId.SMALLER, "&Smaller text", "Smaller text in the window and the chart", "Ctrl+-"),
            (CommandId.USUAL_SIZE, "&Usual size", "Text as large as the desktop has it", "Ctrl+0"),
        )
    ),
    *(
        Command(id, Menu.VIEW, text, tip, keys, is_choice=True, inside="La&yout")
        for id, text, tip, keys in (
            (CommandId.LAYOUT_MEASURE, "&Measure", "Choose, run, and watch points arrive", "Ctrl+1"),
            (CommandId.LAYOUT_ANALYSE, "&Analyse", "No library: details and more rows", "Ctrl+2"),
            (CommandId.LAYOUT_PRESENT, "&Present", "The chart alone, with large text", "Ctrl+3"),
        )
    ),
    Command(
        CommandId.RESET_LAYOUT, Menu.VIEW, "&Reset", "Put every pane back in its place", inside="La&yout"
    ),
    Command(CommandId.FULL_SCREEN, Menu.VIEW, "&Full screen", "The whole screen, and back", "F11"),
    Command(CommandId.NEXT_PANE, Menu.VIEW, "Ne&xt pane", "Put the keyboard into the next pane", "Ctrl+Tab"),
    Command(
        CommandId.PREVIOUS_PANE,
        Menu.VIEW,
        "Previous pa&ne",
        "Put the keyboard into the pane before",
        "Ctrl+Shift+Tab",
    ),
    Command(
        CommandId.LESSON,
        Menu.HELP,
        "&Lessons",
        "A kernel from textbook to best: what each step teaches, its figures and lines, and an exercise",
        "F1",
    ),
    Command(
        CommandId.DOCTOR,
        Menu.HELP,
        "&Doctor",
        "What is available here, what is missing, and the fix",
        "F8",
        "stethoscope",
    ),
    Command(
        CommandId.DEVICE_SHEET,
        Menu.HELP,
        "Device s&heet",
        "What the chosen device is, and its ceilings",
        "F9",
        "cpu",
    ),
    Command(CommandId.SHORTCUTS, Menu.HELP, "&Shortcuts", "List every command and its keys", "?", "keyboard"),
    Command(
        CommandId.ABOUT,
        Menu.HELP,
        "&About Roofscope...",
        "Version, licences and what it runs on",
        starts_group=True,
    ),
)

COMMAND_OF = {command.id: command for command in COMMANDS}

# What keys do in the chart while it has the focus, and the mouse: no commands, but people look for them.
CHART_KEYS = (
    ("Select a point", "Click", "Click beside all points to select none"),
    ("Move the chart", "Drag", "Take the chart along"),
    ("Zoom to a box", "Shift+drag", "Show what lies in the box"),
    ("Zoom", "Wheel", "In and out about the pointer"),
    ("More of a point", "Right click", "What can be done with it"),
    ("Fit the chart", "F", "Show the whole roofline"),
    ("Step back in the chart", "Esc", "Undo the last step of the filter, then select nothing"),
    ("Isolate a kernel", "Double click", "With Ctrl one kernel more, or one less; beside all points, fit"),
    ("Show one provider", "Enter, Alt+click", "On its entry of the legend; Space or a click hides it"),
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
            action.setCheckable(command.is_choice or command.is_toggle)
            if command.is_local:
                action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
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
    """A command's text without mnemonic and dots, after the menu that it is inside of: ``Theme: Light``."""
    text = command.text.replace("&", "").removesuffix("...")
    return f"{command.inside.replace('&', '')}: {text}" if command.inside else text
