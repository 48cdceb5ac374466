"""A window in a process of its own, for tests that kill it or look at what it imported.

``run FOLDER``: starts a slow run and goes on until it is killed.
``modules FOLDER FILE``: opens a session file, prints the imported top-level modules and ends.
"""

import sys
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from roofscope.app.window.application import Application, build_window
from roofscope.profiling.paths import UserPaths
from roofscope.tests.qt.stand_ins import FakeDevices, FakeTarget


def main(task: str, folder: Path, files: list[Path]) -> int:
    app = QApplication(["roofscope"])
    paths = UserPaths(folder / "sessions", folder / "window.json", folder / "ceilings", folder / "assets")
    application = build_window(app, paths, source=FakeDevices(), target=FakeTarget("slow"))
    application.start(files)
    application.window.show()
    if task == "run":
        application.panes.plan_bar.device_changed.connect(application.commands.run)
    else:
        looking = QTimer(application, interval=100)
        looking.timeout.connect(lambda: tell_modules(application))
        looking.start()
    return app.exec()


def tell_modules(application: Application) -> None:
    """Once the file is shown and the devices are found: by then all is imported that a start needs."""
    if application.table.rowCount() == 0 or application.panes.plan_bar.device() is None:
        return
    modules = sorted({name.partition(".")[0] for name in sys.modules})
    sys.stdout.write(" ".join(modules))
    application.window.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]]))
