"""Pans, zooms and searches a made trace of a million events without a screen: how long a frame takes.

    python -P main.py -m roofscope.benchmarks.trace_frames [--events 1000000] [--frames 120] [--trace FILE]

A frame is one step of panning or zooming and a painting of the canvas, as on a screen: what stands beside it
is not painted again. It is measured at each of several scales, from the whole trace to a few slices, at two
sizes of the window: the median, the 95th percentile and the worst of the wall time, and the median of the
processor's, in milliseconds. A search is what follows a typed word: the hits, their count, the first one
shown and painted. Ends with 0 only where the 95th percentile of the frames and the worst search keep their
budgets.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from roofscope.tests.traces import write_trace

if TYPE_CHECKING:
    from PySide6.QtGui import QImage

    from roofscope.app.window.timeline.panel import TimelinePanel

FRAME_S, SEARCH_S = 1 / 60, 0.2
SIZES = ((1280, 800), (2560, 1440))
SCALES = (1.0, 1e-1, 1e-2, 1e-3, 1e-5)  # of the whole trace
WORDS = ("softmax", "a", "aten::addmm", "vectorized", "not there")


def _panel(path: Path) -> "TimelinePanel":
    from PySide6.QtWidgets import QApplication

    from roofscope.app.presentation.timeline.rows import track_of
    from roofscope.app.presentation.timeline.stacked import Stack
    from roofscope.app.presentation.tokens import Scheme
    from roofscope.app.window.theme import apply_theme
    from roofscope.app.window.timeline.panel import TimelinePanel
    from roofscope.profiling.traces.reading import open_trace
    from roofscope.profiling.traces.summary import totals_of

    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    theme = apply_theme(application, Scheme.DARK)
    trace = open_trace(path)
    panel = TimelinePanel(theme)
    panel.show_stack(Stack((track_of(trace, "made"),)), totals_of(trace).kernels)
    print(f"{len(trace.slices)} slices, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return panel


def _frames(
    panel: "TimelinePanel", image: "QImage", scale: float, count: int
) -> tuple[list[float], list[float]]:
    """Wall and processor time of each frame, beginning in the middle of the trace."""
    from roofscope.app.presentation.timeline.viewport import Viewport

    timeline = panel.canvas.timeline
    whole = timeline.whole
    middle, span = whole.begin + whole.span / 2, whole.span * scale
    timeline.look(Viewport(middle - span / 2, span))
    panel.canvas.render(image)
    wall, processor = list[float](), list[float]()
    for index in range(count):
        began, cpu = time.perf_counter(), time.process_time()
        if index % 5 == 4:
            factor = 0.9 if index % 10 == 4 else 1 / 0.9
            timeline.look(timeline.view.zoomed(factor, timeline.view.begin + 0.3 * timeline.view.span))
        else:
            timeline.look(timeline.view.panned(0.02 if index % 40 < 20 else -0.02))
        panel.canvas.render(image)
        wall.append(time.perf_counter() - began)
        processor.append(time.process_time() - cpu)
    return wall, processor


def _search(panel: "TimelinePanel", image: "QImage", word: str) -> float:
    began = time.perf_counter()
    panel.find_text(word)
    panel.canvas.render(image)
    return time.perf_counter() - began


def measure(path: Path, frames: int, wait: Callable[[int], object]) -> bool:
    """Whether every budget is kept."""
    from PySide6.QtGui import QImage

    panel, is_kept = _panel(path), True
    print("| size | of the trace | median ms | 95 % ms | worst ms | CPU ms | frames/s | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for width, height in SIZES:
        panel.resize(width, height)
        panel.show()
        wait(100)
        image = QImage(panel.canvas.size(), QImage.Format.Format_RGB32)
        for scale in SCALES:
            wall, processor = _frames(panel, image, scale, frames)
            median, late = statistics.median(wall), statistics.quantiles(wall, n=20)[-1]
            cpu = statistics.median(processor)
            figures = " | ".join(f"{1e3 * each:.1f}" for each in (median, late, max(wall), cpu))
            verdict = "kept" if late <= FRAME_S else "MISSED"
            print(f"| {width}x{height} | {scale:g} | {figures} | {1 / median:.0f} | {verdict} |", flush=True)
            is_kept &= late <= FRAME_S
    last = QImage(panel.canvas.size(), QImage.Format.Format_RGB32)
    print("| search | ms | found | |\n| --- | --- | --- | --- |")
    for word in WORDS:
        taken = max(_search(panel, last, word) for _ in range(3))
        verdict = "kept" if taken <= SEARCH_S else "MISSED"
        print(f"| {word} | {1e3 * taken:.0f} | {len(panel.canvas.timeline.hits)} | {verdict} |")
        is_kept &= taken <= SEARCH_S
    return is_kept


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--frames", type=int, default=120, help="at each scale")
    parser.add_argument("--trace", type=Path, help="this trace, instead of a made one")
    asked = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtTest import QTest

    with tempfile.TemporaryDirectory() as folder:
        path = asked.trace or Path(folder) / "made.json"
        if not asked.trace:
            write_trace(path, asked.events)
        return 0 if measure(path, asked.frames, QTest.qWait) else 1


if __name__ == "__main__":
    sys.exit(main())
