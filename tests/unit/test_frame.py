"""The frame: a row a point, a column an axis, figures as they were measured."""

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

import roofscope
from roofscope.profiling.analysis.comparison import Baselines
from roofscope.profiling.analysis.export import json_report
from roofscope.profiling.analysis.frame import COLUMNS, make_frame
from roofscope.profiling.analysis.pivot import PivotError, pivot
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.parameters import Parameter
from roofscope.profiling.planning.spec import size_text
from roofscope.profiling.results.outcome import Energy, Flag
from roofscope.profiling.results.session import Identity, Point, Session
from roofscope.profiling.results.session_reader import load as load_one
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.children import python
from roofscope.tests.recorded import kept
from roofscope.tests.sessions import empty_session, make_session

RECORDED = ASSETS / "sessions"
SESSION = make_session(full=True)


def rows(*sessions: Session) -> list[dict[str, Any]]:
    frame: Any = make_frame(sessions)
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def test_each_axis_is_a_column_of_whole_numbers() -> None:
    frame: Any = make_frame([SESSION])
    assert [name for name in frame.columns if name.startswith("size_")] == [
        *("size_n", "size_m", "size_k", "size_rows", "size_cols")
    ]
    for row, point in zip(rows(SESSION), SESSION.points, strict=True):
        found = {name.removeprefix("size_"): row[name] for name in frame.columns if name.startswith("size_")}
        assert {axis: size for axis, size in found.items() if size is not None} == point.job.workload.sizes
        assert row["sizes"] == size_text(point.job.workload.sizes)
    assert frame["size_rows"].dtype == "Int64"


def test_each_parameter_is_a_column_and_a_variant_a_name_of_its_own() -> None:
    point = SESSION.points[0]
    values = (Parameter("BLOCK", (64, 128), 64, 128), Parameter("layout", ("rows", "cols"), "rows", "rows"))
    variant = msgspec.structs.replace(point.implementation, parameters=values)
    point = msgspec.structs.replace(point, implementation=variant)
    session = msgspec.structs.replace(SESSION, points=(point, *SESSION.points[1:]))
    first, *others = rows(session)
    assert (first["set_BLOCK"], first["set_layout"]) == (128, "rows")
    assert first["parameters"] == "BLOCK=128 layout=rows"
    assert first["implementation"] == f"{variant.stem} BLOCK=128"
    assert all(row["set_BLOCK"] is None and row["parameters"] == "" for row in others)
    frame: Any = make_frame([session])
    assert frame["set_BLOCK"].dtype == "Int64"


def test_an_axis_or_a_label_may_be_called_as_a_column_is() -> None:
    point = SESSION.points[0]
    workload = msgspec.structs.replace(point.job.workload, sizes={"device": 3})
    job = msgspec.structs.replace(point.job, workload=workload)
    odd = msgspec.structs.replace(
        SESSION,
        points=(msgspec.structs.replace(point, job=job),),
        identity=Identity("a", "0.1.0", {"kernel": "mine"}),
    )
    [row] = rows(odd)
    assert (row["size_device"], row["device"]) == (3, "NVIDIA H200")
    assert (row["label_kernel"], row["kernel"]) == ("mine", workload.kernel)


def test_the_speed_up_is_the_one_of_the_window() -> None:
    seen: set[str | None] = set()
    for path in (*sorted(RECORDED.glob("*.roofscope")), kept("h200-tour")):  # of its times some are not known
        session = load_one(path)
        baselines = Baselines(session.points)
        for row, point in zip(rows(session), session.points, strict=True):
            found = baselines.speed_up(point)
            seen.add(row["speed_up_verdict"])
            if found is None:
                assert row["speed_up"] is row["speed_up_low"] is row["speed_up_verdict"] is None
                continue
            ends = (found.low, found.high) if math.isfinite(found.high) else (None, None)  # too few blocks
            assert (row["speed_up"], row["speed_up_low"], row["speed_up_high"]) == (found.ratio, *ends)
            assert row["speed_up_baseline"] == found.baseline.implementation.stem
            expected = "faster" if found.low > 1 else "slower" if found.high < 1 else "not distinguishable"
            expected = expected if found.is_known else "not known"
            assert row["speed_up_verdict"] == ("baseline" if found.is_baseline else expected)
    assert seen == {"baseline", "faster", "slower", "not distinguishable", "not known", None}


def test_energy_is_that_of_a_call() -> None:
    point = SESSION.points[0]
    assert point.measured
    energy = Energy(joules_per_call=0.25, integrated_joules_per_call=None, duration_s=1.0, calls=4)
    outcome = msgspec.structs.replace(point.measured, energy=energy)
    with_it: Point = msgspec.structs.replace(point, outcome=outcome)
    found = rows(msgspec.structs.replace(SESSION, points=(with_it, point)))
    assert [row["energy_j"] for row in found] == [0.25, None]


def test_each_flag_is_a_column_of_truth_values() -> None:
    columns = [f"flag_{flag.name.lower()}" for flag in Flag]
    frame: Any = make_frame([SESSION])
    assert [name for name in frame.columns if name.startswith("flag_")] == columns
    assert {str(frame[column].dtype) for column in columns} == {"bool"}
    for row, point in zip(rows(SESSION), SESSION.points, strict=True):
        assert [row[column] for column in columns] == [flag in verdict(point, SESSION).flags for flag in Flag]
        assert row["verdict"] == str(verdict(point, SESSION).kind)
    assert frame["flag_launch_bound"].any()


def test_frame_and_json_hold_the_same() -> None:
    points = json.loads(json_report(SESSION))["points"]
    for row, record in zip(rows(SESSION), points, strict=True):
        for column in COLUMNS:
            is_several = column in ("sizes", "parameters")
            expected = size_text(record[column]) if is_several else record[column]
            assert row[column] == expected or row[column] == math.inf, column


def test_labels_and_identity_are_in_each_row(tmp_path: Path) -> None:
    for name, labels in (("a", {"commit": "1"}), ("b", {"night": "2"})):
        with SessionStore.create(tmp_path / f"{name}.roofscope", labels) as store:
            point = SESSION.points[0]
            store.add_outcome(point.job, point.implementation, point.outcome)
            uuid = store.identity.uuid
    loaded = roofscope.load(tmp_path)
    first, second = rows(*loaded)
    assert (first["label_commit"], first["label_night"]) == ("1", None)
    assert (second["label_commit"], second["label_night"]) == (None, "2")
    assert (second["session_uuid"], second["session_file"]) == (uuid, "b.roofscope")
    assert second["roofscope_version"] == roofscope.__version__


def test_an_empty_session_gives_a_frame_with_all_columns_and_no_row() -> None:
    frame: Any = make_frame([empty_session()])
    assert (tuple(frame.columns), len(frame)) == (COLUMNS, 0)


def test_a_folder_is_read_with_all_below_it_and_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "2026" / "11").mkdir(parents=True)
    shutil.copy(RECORDED / "h200-gelu.roofscope", tmp_path / "2026" / "11" / "b.roofscope")
    shutil.copy(RECORDED / "h200-gelu.roofscope", tmp_path / "a.roofscope")
    (tmp_path / "notes.txt").write_text("no session")
    loaded = roofscope.load(tmp_path, str(tmp_path / "a.roofscope"))
    assert [session.path.name for session in loaded] == ["b.roofscope", "a.roofscope"]
    assert len(loaded.frame()) == 28
    assert loaded.problems == ()


def test_a_bad_file_of_a_folder_is_a_problem_and_one_that_is_named_an_error(tmp_path: Path) -> None:
    shutil.copy(RECORDED / "h200-gelu.roofscope", tmp_path / "a.roofscope")
    bad = tmp_path / "bad.roofscope"
    bad.write_text("no database at all" * 100)
    loaded = roofscope.load(tmp_path)
    assert len(loaded) == 1
    [problem] = loaded.problems
    assert str(bad) in problem
    assert "not a Roofscope session" in problem
    with pytest.raises(roofscope.SessionError, match=r"bad\.roofscope is not a Roofscope session"):
        roofscope.load(tmp_path / "a.roofscope", bad)
    with pytest.raises(roofscope.SessionError, match="There is no file"):
        roofscope.load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert roofscope.load(tmp_path / "empty").problems == (f"{tmp_path / 'empty'} holds no .roofscope file.",)


def test_pandas_is_imported_for_the_frame_only() -> None:
    code = (
        "import sys, roofscope; from roofscope.profiling.analysis.export import json_report;"
        f"loaded = roofscope.load({str(RECORDED / 'h200-gelu.roofscope')!r});"
        "json_report(loaded.sessions[0]); assert 'pandas' not in sys.modules;"
        "loaded.frame(); assert 'pandas' in sys.modules"
    )
    subprocess.run(python(code), check=True)


def test_a_pivot_has_sizes_down_and_implementations_across() -> None:
    frame: Any = pivot(make_frame([SESSION]), "rows", "median_s")
    assert list(frame.columns) == [
        *("kernel", "dtype", "regime", "size_cols", "size_rows"),
        *("cuda_warp", "triton_online", "eager", "compile_default"),
    ]
    assert set(frame["kernel"]) == {"softmax"}
    for row in frame.to_dict("records"):
        for stem in frame.columns[5:]:
            times = [
                point.measured.time.median_s if point.measured else math.nan
                for point in SESSION.points
                if point.implementation.key == f"softmax/{stem}"
                and str(point.job.workload.dtype) == row["dtype"]
                and point.job.workload.sizes == {"rows": row["size_rows"], "cols": row["size_cols"]}
            ]
            assert [row[stem]] == pytest.approx(times, rel=0, abs=0, nan_ok=True)
    assert list(frame[frame["dtype"] == "float32"]["size_rows"]) == [1024, 32768]


def test_in_a_pivot_the_newest_point_counts() -> None:
    first = SESSION.points[0]
    assert first.measured
    time = msgspec.structs.replace(first.measured.time, median_s=0.5)
    outcome = msgspec.structs.replace(first.measured, time=time)
    again = msgspec.structs.replace(first, number=1000, outcome=outcome)
    session = msgspec.structs.replace(SESSION, points=(*SESSION.points, again))
    axis = next(iter(first.job.workload.sizes))
    frame: Any = pivot(make_frame([session]), axis, "median_s")
    assert (frame[first.implementation.stem] == 0.5).sum() == 1


def test_a_pivot_of_an_unknown_axis_names_those_there_are() -> None:
    with pytest.raises(PivotError, match=r"axis 'q'; the axes here are n, m, k, rows, cols\.$"):
        pivot(make_frame([SESSION]), "q", "median_s")
    failures = tuple(point for point in SESSION.points if point.measured is None)
    session = msgspec.structs.replace(SESSION, points=failures)
    with pytest.raises(PivotError, match="was measured"):
        pivot(make_frame([session]), "n", "median_s")
