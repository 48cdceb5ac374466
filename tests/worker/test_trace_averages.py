"""What operators took beside torch's own ``key_averages`` of the same recording."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function

from roofscope.profiling.traces.averages import operator_averages
from roofscope.profiling.traces.reading import open_trace


def test_counts_and_times_are_those_of_key_averages(tmp_path: Path) -> None:
    """With what is nested in its own name (div, mean), and a range round it."""
    x = torch.randn(64, 64, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU]) as recording:
        for _ in range(3):
            with record_function("step"):
                (torch.softmax(x @ x, -1).mean() / 3).backward()
    path = tmp_path / "a.json"
    recording.export_chrome_trace(str(path))
    rows = {row.name: row for row in operator_averages(open_trace(path))}
    averages: Any = recording.key_averages()
    theirs = {each.key: each for each in averages if each.key.startswith("aten::") or each.key == "step"}
    assert len(theirs) > 8
    for name, each in theirs.items():
        row = rows[name]
        assert row.count == each.count, name
        least = 1e-9 * row.count + 1e-9
        assert row.host_self_s == pytest.approx(each.self_cpu_time_total * 1e-6, rel=1e-3, abs=least), name
        assert row.host_total_s == pytest.approx(each.cpu_time_total * 1e-6, rel=1e-3, abs=least), name
