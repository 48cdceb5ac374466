"""Each point keeps the environment that it was measured in, and the roofs of that."""

import csv
import io
import shutil
from pathlib import Path

import msgspec
import pytest

from roofscope.app.presentation.detail_facts import sections
from roofscope.app.presentation.point_row import point_rows
from roofscope.app.presentation.roofline.caption import foot_parts
from roofscope.profiling.analysis.export import csv_report, session_document
from roofscope.profiling.analysis.verdict import limiting_roof
from roofscope.profiling.devices.environment import Environment, Package
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Session, Setup
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.roofline import Ceiling
from roofscope.tests.sessions import CEILINGS, DEVICE, ENVIRONMENT, SPECS, make_session

NEWER = "9.9.9"


def newer(*, power_limit_w: float | None = None) -> Environment:
    """The same machine after an update of driver and torch, perhaps with another power limit."""
    device = msgspec.structs.replace(
        DEVICE, driver_version="999.1", power_limit_w=power_limit_w or DEVICE.power_limit_w
    )
    others = (package for package in ENVIRONMENT.packages if package.name != "torch")
    return msgspec.structs.replace(
        ENVIRONMENT,
        packages=(Package("torch", NEWER), *others),
        devices=(device,),
        roofscope_version="9.0",
        cuda_version="13.9",
    )


def half(ceiling: Ceiling) -> Ceiling:
    return msgspec.structs.replace(ceiling, value=ceiling.value / 2)


@pytest.fixture
def grown(tmp_path: Path) -> Session:
    """One point, then the file reopened under a newer driver and torch, its ceilings halved, and another."""
    path = tmp_path / "a.roofscope"
    first, second = (point for point in make_session().points[:2])
    with SessionStore.create(path) as store:
        store.add_environment(ENVIRONMENT, DEVICE.id)
        for spec in SPECS:
            store.add_kernel(spec)
        for ceiling in CEILINGS:
            store.add_ceiling(ceiling)
        store.add_outcome(first.job, first.implementation, first.outcome)
    with SessionStore.append(path) as store:
        store.add_environment(newer(), DEVICE.id)
        for ceiling in CEILINGS:
            store.add_ceiling(half(ceiling))
        store.add_outcome(second.job, second.implementation, second.outcome)
    return load(path)


def test_exports_give_each_point_its_own_environment(grown: Session) -> None:
    old, new = csv.DictReader(io.StringIO(csv_report(grown), newline=""))
    assert (old["torch_version"], new["torch_version"]) == (ENVIRONMENT.version("torch"), NEWER)
    assert (old["driver_version"], new["driver_version"]) == (DEVICE.driver_version, "999.1")
    assert (old["measured_by_version"], new["measured_by_version"]) == ("", "9.0")
    assert (old["cuda_version"], new["cuda_version"]) == ("", "13.9")
    assert (old["environment"], new["environment"]) == ("1", "2")
    assert [origin.number for origin in session_document(grown).environments] == [1, 2]


def test_the_details_show_the_point_s_own(grown: Session) -> None:
    shown = [
        {fact.name: fact.value for part in sections(row, grown) for fact in part.facts}
        for row in point_rows(grown, Provider.EAGER, None)
    ]
    assert {facts["torch"] for facts in shown} == {ENVIRONMENT.version("torch"), NEWER}
    assert {facts["Driver"] for facts in shown} == {DEVICE.driver_version, "999.1"}
    assert "another driver" in " ".join(foot_parts(grown)[1])


def test_a_point_is_judged_by_the_roofs_of_its_own_environment(grown: Session) -> None:
    old, new = (limiting_roof(point, grown) for point in grown.points)
    assert old
    assert new
    assert old.ceiling in CEILINGS
    assert new.ceiling in map(half, CEILINGS)
    assert grown.roofline.ceilings == tuple(map(half, CEILINGS))  # the chart's: those of now


def test_ceilings_count_for_their_driver_power_limit_and_torch_only(grown: Session) -> None:
    torch = ENVIRONMENT.version("torch")
    assert grown.has_measured_ceilings(Setup.of(DEVICE, torch))
    assert grown.has_measured_ceilings(Setup.of(newer().device(DEVICE.id), NEWER))
    assert not grown.has_measured_ceilings(Setup.of(DEVICE, NEWER))
    assert not grown.has_measured_ceilings(Setup.of(newer(power_limit_w=350.0).device(DEVICE.id), NEWER))


def test_an_environment_that_is_there_already_gets_no_second_row(grown: Session) -> None:
    with SessionStore.append(grown.path) as store:
        assert store.add_environment(ENVIRONMENT, DEVICE.id).number == 1
        point = grown.points[0]
        assert store.add_outcome(point.job, point.implementation, point.outcome).origin == 1
    again = load(grown.path)
    assert [origin.number for origin in again.origins] == [1, 2]
    assert again.environment == ENVIRONMENT  # of the newest point


def test_points_of_an_old_file_keep_theirs_when_it_is_lifted(tmp_path: Path) -> None:
    path = Path(shutil.copy(ASSETS / "sessions" / "h200-gelu.roofscope", tmp_path))
    before = load(path)
    point = before.points[1]
    with SessionStore.append(path) as store:
        store.add_environment(newer(), "cuda:0")
        store.add_outcome(point.job, point.implementation, point.outcome)
    after = load(path)
    assert after.points[:-1] == before.points
    assert [after.environment_of(point) for point in after.points[:-1]] == [before.environment] * len(
        before.points
    )
    assert after.environment_of(after.points[-1]) == newer()
    assert after.ceiling_origins == before.ceiling_origins
