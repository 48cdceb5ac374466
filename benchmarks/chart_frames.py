"""Pans and zooms the roofline chart without a screen and says how long a frame takes.

    python main.py -m roofscope.benchmarks.chart_frames
    python main.py -m roofscope.benchmarks.chart_frames --before ../another/checkout --rounds 3

A frame is one step of panning (every fifth one zooms) and a painting of the plot, as on a screen. Prints a
row for each number of points and each size: the median and the 95th percentile of the wall time, the median
of the processor's time, both in milliseconds, and the frames a second that the median allows. With
``--before`` another checkout is measured in turn with this one, each in a process of its own.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_CHILD = (
    "import sys, runpy; sys.path.insert(0, sys.argv[1]); import main; "
    "runpy.run_path(sys.argv[2], run_name='frames')"
)
_SIZES = ((1280, 800), (2560, 1440))
_FRAMES = 60
_BUDGET_FPS = {293: 60, 10_000: 30}


def measure() -> list[dict[str, float]]:
    """Rows of one checkout; runs in a process of its own, where ``roofscope`` is that checkout."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtGui import QImage
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication, QWidget

    from roofscope.app.presentation.tokens import Scheme
    from roofscope.app.window.chart.roofline_chart import RooflineChart
    from roofscope.app.window.selection import Selection
    from roofscope.app.window.session_model import SessionModel
    from roofscope.app.window.theme import apply_theme
    from roofscope.profiling.paths import PACKAGE
    from roofscope.profiling.results.session_reader import load

    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    theme = apply_theme(application, Scheme.DARK)
    rows: list[dict[str, float]] = []
    for count in _BUDGET_FPS:
        session = load(PACKAGE / "assets" / "sessions" / "h200.roofscope")
        session.points = _many(session.points, count)
        for width, height in _SIZES:
            chart = RooflineChart(SessionModel(session), Selection(), theme)
            chart.resize(width, height)
            chart.show()
            QTest.qWait(300)
            box = chart.plot.getPlotItem().vb
            image = QImage(chart.plot.size(), QImage.Format.Format_RGB32)
            wall, processor = [], []
            for index in range(_FRAMES):
                started, cpu = time.perf_counter(), time.process_time()
                if index % 5 == 4:
                    box.scaleBy((0.97, 0.97) if index % 10 == 4 else (1 / 0.97, 1 / 0.97))
                else:
                    box.translateBy(x=0.02 if index % 2 else -0.015, y=0.01 if index % 3 else -0.02)
                chart.plot.moved_by_user.emit()
                QWidget.render(chart.plot, image)
                wall.append(time.perf_counter() - started)
                processor.append(time.process_time() - cpu)
            rows.append(
                {
                    "points": len(session.points),
                    "width": width,
                    "height": height,
                    "median_s": statistics.median(wall),
                    "p95_s": statistics.quantiles(wall, n=20)[-1],
                    "cpu_s": statistics.median(processor),
                }
            )
            chart.close()
            chart.deleteLater()
            QTest.qWait(10)
    return rows


def _many(points: tuple, count: int) -> tuple:  # type: ignore[type-arg] - points of whichever checkout
    """The recorded points, and copies of them at sizes and times a little apart until there are enough."""
    import msgspec

    timed = [point for point in points if point.measured is not None]
    made = list(points)
    while len(made) < count:
        index = len(made)
        point = timed[index % len(timed)]
        turn = 1 + index // len(timed)
        work = point.job.work
        scaled = msgspec.structs.replace(work, flop_count=work.flop_count * 1.05 ** (turn % 37))
        sizes = {name: size + turn for name, size in point.job.workload.sizes.items()}
        workload = msgspec.structs.replace(point.job.workload, sizes=sizes)
        job = msgspec.structs.replace(point.job, work=scaled, workload=workload)
        made.append(msgspec.structs.replace(point, number=100_000 + index, job=job))
    return tuple(made[:count]) if count > len(points) else tuple(points)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout, measured in turn with this one")
    parser.add_argument("--rounds", type=int, default=1, help="times that each checkout is measured")
    asked = parser.parse_args()
    checkouts = {"before": asked.before.resolve(), "now": ROOT} if asked.before else {"now": ROOT}
    print("| checkout | points | size | median ms | 95 % ms | CPU ms | frames/s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for _ in range(asked.rounds):
        for name, folder in checkouts.items():
            command = [sys.executable, "-P", "-c", _CHILD, str(folder), __file__]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for row in json.loads(said.splitlines()[-1]):
                size = f"{row['width']}x{row['height']}"
                times = " | ".join(f"{1e3 * row[key]:.1f}" for key in ("median_s", "p95_s", "cpu_s"))
                print(f"| {name} | {row['points']} | {size} | {times} | {1 / row['median_s']:.0f} |")
    return 0


if __name__ == "frames":
    print(json.dumps(measure()))
elif __name__ == "__main__":
    sys.exit(main())
