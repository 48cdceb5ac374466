"""The recorded sessions read as before the export came from a frame: every row and column."""

import csv
import gzip
import io
import math
from pathlib import Path

import pytest

from roofscope.profiling.analysis.export import csv_report
from roofscope.profiling.results.session_reader import load
from roofscope.tests.recorded import recorded

# By device time then, by wall time now; a new flag; and what allows for the other comparisons of a job.
RENAMED = {
    "break_even_call_count": "break_even_wall_call_count",
    "compiling_pays": "compiling_pays_by_wall",
}
CHANGED = ("flags", "speed_up_low", "speed_up_high", "speed_up_verdict")
EXPORTS = Path(__file__).parents[1] / "data" / "frames"  # by the commit before the frame


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("name", ["h200", "h200-gelu", "h200-tour"])
def test_a_recorded_session_exports_what_it_did(name: str) -> None:
    before = read(gzip.decompress((EXPORTS / f"{name}.csv.gz").read_bytes()).decode())
    now = read(csv_report(load(recorded(name))))
    assert len(now) == len(before) > 0
    columns = list(before[0])
    assert [RENAMED.get(column, column) for column in columns] == list(now[0])[: len(columns)]
    # The verdict of a recorded point may change: it is concluded again from what was recorded.
    kept = [column for column in columns if column not in (*RENAMED, *CHANGED, "verdict")]
    for old, new in zip(before, now, strict=True):
        few = int(old["block_count"] or 5) < 5
        told = [column for column in kept if not (few and column in ("low_s", "high_s"))]
        assert not [column for column in told if not same(old[column], new[column])]
        if few:
            assert new["low_s"] == new["high_s"] == ""


def same(old: str, new: str) -> bool:
    """To the last digit; of a sum the last may differ, for Python adds floats more exactly from 3.12 on."""
    if old == new:
        return True
    try:
        return math.isclose(float(old), float(new), rel_tol=4e-16)
    except ValueError:
        return False
