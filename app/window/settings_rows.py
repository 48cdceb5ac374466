"""The settings that there are: each does something, at once or from the next start on."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec.structs import replace
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QCheckBox

from roofscope.app.presentation.tokens import Scheme
from roofscope.app.window.commands import CommandId
from roofscope.app.window.controller import Controller
from roofscope.app.window.folder_commands import FolderCommands
from roofscope.app.window.habits import MOST_PATIENCE, Habits, PlanHabit
from roofscope.app.window.settings import Settings
from roofscope.app.window.shell.main_window import SCHEME_COMMANDS, MainWindow
from roofscope.app.window.shell.settings_dialog import Setting, button, choice, factor, switch
from roofscope.app.window.text_size import STEPS, TextSize

_SCHEME_TEXTS = {
    Scheme.SYSTEM: "as the system",
    Scheme.LIGHT: "light",
    Scheme.DARK: "dark",
    Scheme.CONTRAST: "high contrast",
}


class SettingsParts(Protocol):
    settings: Settings
    controller: Controller
    folder_commands: FolderCommands
    window: MainWindow
    text_size: TextSize


def setting_rows(parts: SettingsParts) -> Sequence[Setting]:
    settings = parts.settings
    habits = settings.habits

    def change(to: Callable[[Habits], Habits]) -> None:
        settings.habits = to(settings.habits)
        parts.controller.patience = settings.habits.patience

    commands = list(SCHEME_COMMANDS)
    schemes = [SCHEME_COMMANDS[command] for command in commands]
    folders = len(settings.kernel_folders)
    return (
        Setting(
            "Theme",
            "The colours of the window; pictures are exported in them.",
            choice(
                "Theme",
                [_SCHEME_TEXTS.get(scheme, scheme) for scheme in schemes],
                schemes.index(settings.scheme),
                lambda index: parts.window.actions_of[commands[index]].trigger(),
            ),
        ),
        Setting(
            "Text size",
            "How large all text is, of the desktop's; also Ctrl++ and Ctrl+-.",
            choice(
                "Text size",
                [f"{step} %" for step in STEPS],
                STEPS.index(min(STEPS, key=lambda step: abs(step - parts.text_size.percent))),
                lambda index: parts.text_size.choose(STEPS[index]),
            ),
        ),
        Setting(
            "Open the last session at the start",
            "Else the window starts with the example.",
            switch(
                "Open the last session at the start",
                habits.reopens_last,
                lambda on: change(lambda now: replace(now, reopens_last=on)),
            ),
        ),
        Setting(
            "Remember the plan",
            "Ticks, data types, sizes, regime, precision and kept code are those of the last start.",
            switch(
                "Remember the plan",
                habits.remembers_plan,
                lambda on: change(
                    lambda now: replace(now, remembers_plan=on, plan=now.plan if on else PlanHabit())
                ),
            ),
        ),
        Setting(
            "Patience",
            "Wait so many times as long for a kernel or compiler that does not answer, from the next run on.",
            factor(
                "Patience",
                habits.patience,
                MOST_PATIENCE,
                lambda times: change(lambda now: replace(now, patience=times)),
            ),
        ),
        Setting(
            "Measure when saved",
            "Files of kernels are watched, and a version is measured again whenever one of its own is saved.",
            _following(parts.window.actions_of[CommandId.LIVE], "Measure when saved"),
        ),
        Setting(
            "Kernel folders",
            f"Kernels of your own, used beside the program's; {folders or 'none'} recorded.",
            button(
                "Kernel folders...", parts.window.actions_of[CommandId.KERNELS].trigger, "Open kernel folders"
            ),
        ),
        Setting(
            "Sessions of before",
            f"{len(settings.recent_sessions) or 'None'} listed under Open recent; the files stay.",
            button("Clear the list", lambda: _clear_recent(parts)),
        ),
        Setting(
            "Layout of the panes",
            "Every pane back in its place, at sizes that suit the window.",
            button("Reset layout", parts.window.actions_of[CommandId.RESET_LAYOUT].trigger),
        ),
    )


def _following(action: QAction, name: str) -> QCheckBox:
    """A switch of what has an action too, whose state it always shows."""
    box = switch(name, action.isChecked(), action.setChecked)
    action.toggled.connect(box.setChecked)
    return box


def _clear_recent(parts: SettingsParts) -> None:
    parts.settings.recent_sessions = ()
    parts.controller.session_changed.emit()
