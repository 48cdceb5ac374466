"""Brings back the plan of the last start, and keeps that of this one."""

from pathlib import Path
from typing import Protocol

from msgspec.structs import replace
from PySide6.QtCore import QObject

from roofscope.app.window.controller import Controller
from roofscope.app.window.habits import MOST_TICKS, PlanHabit
from roofscope.app.window.settings import Settings
from roofscope.app.window.shell.main_window import MainWindow, Panes
from roofscope.app.window.tables.library_model import LibraryModel
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Kernel


class PlanParts(Protocol):
    settings: Settings
    library: LibraryModel
    controller: Controller
    window: MainWindow
    panes: Panes


class PlanHabits(QObject):
    """Kept when a run begins and when the window closes; ticks of folders that come later wait for them."""

    def __init__(self, parts: PlanParts) -> None:
        super().__init__(parts.window)
        self._parts = parts
        self._has_chosen_presets = False
        self._restored: set[str] = set()  # folders of kernels
        self._restore_bar()
        self._restore_ticks()
        for button in parts.panes.plan_bar.presets.values():
            button.clicked.connect(self._note_presets)
        parts.library.modelReset.connect(self._restore_ticks)
        parts.controller.running_changed.connect(self._run_changed)
        parts.window.closing.connect(self.keep)

    def keep(self) -> None:
        """Write down what is chosen now."""
        settings, bar = self._parts.settings, self._parts.panes.plan_bar
        habits = settings.habits
        if not habits.remembers_plan:
            return
        presets = tuple(name for name, button in bar.presets.items() if button.isChecked())
        plan = PlanHabit(
            dtypes=tuple(dtype for dtype, button in bar.dtypes.items() if button.isChecked()),
            presets=presets if self._has_chosen_presets else None,
            own_sizes=bar.own_sizes.text(),
            regime=next(regime for regime, button in bar.regimes.items() if button.isChecked()),
            fill=next(fill for fill, button in bar.fills.items() if button.isChecked()),
            quality=next(quality for quality, button in bar.qualities.items() if button.isChecked()),
            keeps_code=bar.keep_code.isChecked(),
            ticks=self._ticks(habits.plan),
            architecture=bar.chosen_architecture,
        )
        if plan != habits.plan:
            settings.habits = replace(habits, plan=plan)

    def _restore_bar(self) -> None:
        habits, bar = self._parts.settings.habits, self._parts.panes.plan_bar
        if not habits.remembers_plan:
            return
        plan = habits.plan
        for dtype, button in bar.dtypes.items():
            button.setChecked(dtype in plan.dtypes)
        bar.regimes[plan.regime].setChecked(True)
        bar.fills[plan.fill].setChecked(True)
        bar.qualities[plan.quality].setChecked(True)
        bar.keep_code.setChecked(plan.keeps_code)
        bar.choose_architecture(plan.architecture)
        bar.own_sizes.setText(plan.own_sizes)
        if plan.presets is not None:
            self._has_chosen_presets = True
            for name, button in bar.presets.items():
                if button.isChecked() != (name in plan.presets):
                    button.click()  # as the user did, so that no device's own sizes replace them

    def _restore_ticks(self) -> None:
        habits, library = self._parts.settings.habits, self._parts.library
        if not habits.remembers_plan:
            return
        new = {_folder(kernel) for kernel in library.kernels} - self._restored
        self._restored |= new
        ticks: dict[str, bool] = {}
        for kernel in library.kernels:
            folder = _folder(kernel)
            if folder in new:
                kept = habits.plan.ticks.get(folder, {})
                keys = [implementation.key for implementation in kernel.implementations]
                ticks.update({key: kept[key] for key in keys if key in kept})
        library.restore(ticks)

    def _ticks(self, before: PlanHabit) -> dict[str, dict[str, bool]]:
        """Those of folders that are not here now stay as they were."""
        kernels, own = self._parts.library.kernels, self._parts.library.own_ticks
        found = {folder: ticks for folder, ticks in before.ticks.items() if folder not in self._restored}
        for kernel in kernels:
            ticks = {i.key: own[i.key] for i in kernel.implementations if i.key in own}
            if ticks:
                found.setdefault(_folder(kernel), {}).update(ticks)
        # What is longer would be refused at the next start, with all else that is remembered.
        return {folder: dict(list(ticks.items())[-MOST_TICKS:]) for folder, ticks in found.items()}

    def _note_presets(self) -> None:
        self._has_chosen_presets = True

    def _run_changed(self, running: bool) -> None:
        if running:
            self.keep()


def _folder(kernel: Kernel) -> str:
    """The folder that the kernel's own lies in, as it is written down."""
    root = Path(kernel.folder).parent
    return "" if root == LIBRARY else str(root).encode(errors="replace").decode()
