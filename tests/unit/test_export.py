"""Exports carry every point, raw values and their units."""

import csv
import io
import json
from pathlib import Path

import msgspec
from msgspec.structs import replace

from roofscope import __version__
from roofscope.app.cli.export import export_session
from roofscope.app.cli.table import table_lines
from roofscope.app.presentation.report.page import report_html
from roofscope.profiling.analysis.export import SessionDocument, csv_report, json_report
from roofscope.profiling.analysis.flatten import point_records
from roofscope.profiling.analysis.frame import COLUMNS, make_frame
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Failed, Measured, TimeStats
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import load
from roofscope.tests.recorded import GELU
from roofscope.tests.sessions import CEILINGS, empty_session, make_session

SESSION = make_session(full=True)


def rows() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_report(SESSION))))


def test_csv_has_a_row_for_every_point_failures_with_their_reason() -> None:
    found = rows()
    assert [int(row["number"]) for row in found] == [point.number for point in SESSION.points]
    for row, point in zip(found, SESSION.points, strict=True):
        if isinstance(point.outcome, Measured):
            assert row["outcome"] == "measured"
        else:
            assert row["message"] == point.outcome.message
            assert row["median_s"] == ""
            assert row["achieved_flop_per_s"] == ""
        if isinstance(point.outcome, Failed):
            assert (row["outcome"], row["outcome_kind"]) == ("failed", str(point.outcome.kind))
            assert row["stage"] == str(point.outcome.stage)


def test_csv_values_are_raw_and_read_back_exactly() -> None:
    for row, point in zip(rows(), SESSION.points, strict=True):
        if (measured := point.measured) is None:
            continue
        assert float(row["median_s"]) == measured.time.median_s
        assert float(row["achieved_bandwidth_byte_per_s"]) == point.achieved_bandwidth
        assert float(row["achieved_flop_per_s"]) == point.achieved_flop_rate
        assert float(row["fraction_of_roof"]) == verdict(point, SESSION).fraction_of_roof


def test_csv_lines_end_as_rfc_4180_says_in_files_too(tmp_path: Path) -> None:
    [path] = export_session(GELU, ["csv"], tmp_path / "out.csv")
    content = path.read_bytes()
    assert content == csv_report(load(GELU)).encode()
    assert content.startswith(",".join([*COLUMNS, "size_n"]).encode() + b"\r\n")
    assert content.endswith(b"\r\n")
    assert b"\r\r" not in content


def test_csv_names_hardware_and_versions_in_every_row() -> None:
    for row in rows():
        assert row["device"] == "NVIDIA H200"
        assert row["driver_version"] == "580.159.03"
        assert (row["torch_version"], row["triton_version"]) == ("2.11.0+cu130", "3.6.0")


def test_every_column_with_a_dimension_names_its_unit() -> None:
    units = (
        "_s",
        "_j",
        "_bytes",
        "_hz",
        "_w",
        "_c",
        "_byte_per_s",
        "_flop_per_s",
        "_flop_per_byte",
        "_count",
    )
    text = {column for column in COLUMNS if not column.endswith(units)}
    numeric = {column for row in rows() for column in text if _is_float(row[column])}
    assert numeric <= {
        *("number", "kernel_calls", "calls_per_block", "registers"),
        *("relative_error", "large_relative_error", "tolerance", "fraction_of_roof", "source_sha256"),
        *("max_absolute_error", "max_error_index", "max_error_value", "max_error_expected"),
        "worst_part_share",
        *("speed_up", "speed_up_low", "speed_up_high", "speed_up_common_rounds", "speed_up_comparisons"),
    }


def test_json_holds_sizes_samples_and_ceilings() -> None:
    document = json.loads(json_report(SESSION))
    assert len(document["points"]) == len(SESSION.points)
    assert len(document["ceilings"]) == len(CEILINGS)
    first, point = document["points"][0], SESSION.points[0]
    assert point.measured is not None
    assert first["sizes"] == point.job.workload.sizes
    assert first["samples_s"] == list(point.measured.time.samples_s)
    memory = [row for row in document["ceilings"] if row["bound"] == "dram"]
    assert {row["mix"] for row in memory} == {"read", "write", "copy", "triad", None}
    assert all("value_byte_per_s" in row for row in memory)


def test_an_empty_session_gives_a_header_and_an_empty_list() -> None:
    session = empty_session()
    assert csv_report(session).splitlines() == [",".join(COLUMNS)]
    assert json.loads(json_report(session))["points"] == []


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_never_paying_differs_from_not_known() -> None:
    eager = next(p for p in SESSION.points if p.measured and p.implementation.provider is Provider.EAGER)
    variant = msgspec.structs.replace
    time = eager.measured.time if eager.measured else None
    assert time

    def compiled(number: int, factor: float) -> Point:
        low_s, high_s = (factor * end for end in time.bounds_s or ())
        median_s = factor * time.median_s
        samples = tuple(factor * sample for sample in time.samples_s)
        scaled = variant(time, low_s=low_s, median_s=median_s, high_s=high_s, samples_s=samples)
        faster = variant(eager.measured, time=scaled, host_s=median_s / 2)
        implementation = variant(eager.implementation, provider=Provider.COMPILE, variant="default")
        return variant(eager, number=number, implementation=implementation, outcome=faster)

    session = variant(SESSION, points=(eager, compiled(1000, 0.5), compiled(1001, 2.0)))
    points = json.loads(json_report(session))["points"]
    for where in ("by_wall", "in_graph"):
        assert [point[f"compiling_pays_{where}"] for point in points] == [None, True, False]
        counts = [point[f"break_even_{where.split('_')[1]}_call_count"] for point in points]
        assert [count is None for count in counts] == [True, False, True]
        cells = [row[f"compiling_pays_{where}"] for row in csv.DictReader(io.StringIO(csv_report(session)))]
        assert cells == ["", "True", "False"]


def test_an_interval_that_is_not_known_is_empty_or_null() -> None:
    point = next(p for p in SESSION.points if p.measured)
    assert point.measured
    few = variant_time(point.measured.time.samples_s[:3])
    outcome = msgspec.structs.replace(point.measured, time=few)
    stored = msgspec.json.decode(msgspec.json.encode(outcome), type=Measured)
    assert stored.time == few
    session = msgspec.structs.replace(SESSION, points=(msgspec.structs.replace(point, outcome=stored),))
    [record] = json.loads(json_report(session))["points"]
    assert (record["median_s"], record["low_s"], record["high_s"]) == (few.median_s, None, None)
    [row] = csv.DictReader(io.StringIO(csv_report(session)))
    assert (row["low_s"], row["high_s"], row["block_count"]) == ("", "", "3")


def variant_time(samples_s: tuple[float, ...]) -> TimeStats:
    return TimeStats(samples_s[0], None, None, samples_s, 8, tuple(range(len(samples_s))))


def test_the_document_says_its_form_and_is_of_it() -> None:
    text = json_report(SESSION)
    assert json.loads(text)["schema"] == "roofscope/1"
    read_back = msgspec.json.decode(text, type=SessionDocument)
    assert read_back.roofscope_version == __version__
    assert [point.median_s for point in read_back.points] == [
        point.measured.time.median_s if point.measured else None for point in SESSION.points
    ]
    described = msgspec.json.schema(SessionDocument)["$defs"]["PointRecord"]["properties"]
    assert described["energy_j"] == {"anyOf": [{"type": "number"}, {"type": "null"}]}


def test_the_largest_difference_is_exported_with_its_place() -> None:
    found = next(point for point in SESSION.points if point.measured)
    assert found.measured
    assert found.measured.verification.largest
    [record] = [one for one in point_records(SESSION) if one.number == found.number]
    assert record.max_absolute_error == found.measured.verification.largest.absolute > 0
    assert (record.max_error_output, record.max_error_index) == ("y", "17, 3")
    assert (record.max_error_value, record.max_error_expected) == (0.5000001, 0.5)
    assert record.worst_part_share == 0.031
    row = next(one for one in rows() if one["number"] == str(found.number))
    assert (row["max_error_index"], row["unverified"], row["domain"]) == ("17, 3", "", "")


def test_derived_work_is_marked_in_exports_frames_the_report_and_show() -> None:
    session = make_session(full=True)
    kernel = next(point.job.workload.kernel for point in session.points if point.measured)
    session.points = tuple(with_derived_work(point, kernel) for point in session.points)
    said = f"Derived from the reference, not stated by a person: FLOPs and bytes of {kernel}."
    for row in csv.DictReader(io.StringIO(csv_report(session))):
        assert row["work_is_derived"] == str(row["kernel"] == kernel)
    for record in json.loads(json_report(session))["points"]:
        assert record["work_is_derived"] is (record["kernel"] == kernel)
    frame = make_frame([session])
    assert set(frame.loc[frame["work_is_derived"], "kernel"]) == {kernel}
    assert said in report_html(session)
    assert said in "\n".join(line.plain for line in table_lines(session, 200))
    assert "Derived from" not in "\n".join(line.plain for line in table_lines(SESSION, 200))
    assert "Derived from" not in report_html(SESSION)


def with_derived_work(point: Point, kernel: str) -> Point:
    if point.job.workload.kernel != kernel:
        return point
    return replace(point, job=replace(point.job, work=replace(point.job.work, is_derived=True)))
