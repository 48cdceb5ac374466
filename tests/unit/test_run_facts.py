"""What the details say about a measurement."""

import msgspec
import pytest

from roofscope.app.cli.table import table_lines
from roofscope.app.presentation.detail_facts import sections
from roofscope.app.presentation.point_row import point_rows
from roofscope.profiling.analysis.flatten import point_records
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.planning.spec import Provider, Work
from roofscope.profiling.results.outcome import Difference, Discard, Evidence, TimeStats, Verification
from roofscope.profiling.results.session import Point, Session
from roofscope.tests.sessions import make_session


def said_of(name: str, session: Session) -> str:
    """The fact of this name about a session's only point; "" where the line is left out."""
    [row] = point_rows(session, Provider.EAGER, None)
    facts = [fact for part in sections(row, session) for fact in part.facts]
    return next((fact.value for fact in facts if fact.name == name), "")


def hot_cache(session: Session) -> str:
    return said_of("Hot cache", session)


def gpu_point(session: Session) -> Point:
    return next(point for point in session.points if point.measured and point.measured.hot)


def of_bytes(byte_count: int, *, has_hot: bool) -> Session:
    """A session of one point of a GPU, whose call moves so many bytes."""
    session = make_session()
    point = gpu_point(session)
    assert point.measured
    outcome = point.measured if has_hot else msgspec.structs.replace(point.measured, hot=None)
    job = msgspec.structs.replace(point.job, work=Work(1, byte_count, 0))
    session.points = (msgspec.structs.replace(point, job=job, outcome=outcome),)
    return session


def test_a_hot_reading_stands_beside_the_cold_one() -> None:
    assert "cold takes 1.11×" in hot_cache(of_bytes(1000, has_hot=True))


@pytest.mark.parametrize("caches", [1, 4])
def test_no_hot_reading_is_explained_where_nothing_could_be_hot(caches: int) -> None:
    session = of_bytes(1000, has_hot=False)
    assert session.device
    assert session.device.kind is DeviceKind.CUDA
    assert session.device.last_level_cache_bytes
    session = of_bytes(caches * session.device.last_level_cache_bytes, has_hot=False)
    assert ("too large for the cache" in hot_cache(session)) is (caches == 4)


@pytest.mark.parametrize("is_fault", [True, False])
def test_blocks_given_up_for_a_rest_are_told_and_make_nothing_unstable(is_fault: bool) -> None:
    session = make_session()
    point = gpu_point(session)
    assert point.measured
    discards = (Discard("thermal slowdown (hardware)", 1), Discard("power cap", 900, is_fault=is_fault))
    outcome = msgspec.structs.replace(point.measured, discards=discards)
    session.points = (msgspec.structs.replace(point, outcome=outcome),)
    assert said_of("Left out", session) == "1 × thermal slowdown (hardware), 900 × power cap"
    assert ("blocks were discarded" in said_of("Unstable", session)) is is_fault


def verified(verification: Verification, domain: str = "") -> Session:
    session = make_session()
    point = gpu_point(session)
    assert point.measured
    outcome = msgspec.structs.replace(point.measured, verification=verification)
    implementation = msgspec.structs.replace(point.implementation, domain=domain)
    session.points = (msgspec.structs.replace(point, outcome=outcome, implementation=implementation),)
    return session


def test_the_largest_difference_has_its_place() -> None:
    found = Verification(1e-3, 1e-3, 8e-3, 2, Difference("y", (17, 3), 0.5, 0.25), worst_part=0.41)
    session = verified(found)
    assert said_of("Largest difference", session) == (
        "2.5e-01 at row 17, column 3 of output y: 0.5 instead of 0.25"
    )
    assert said_of("Worst part", session) == "41 % of what is allowed"
    exact = msgspec.structs.replace(found, largest=Difference("y", (1, 2, 3), 0.5, 0.5))
    assert said_of("Largest difference", verified(exact)) == "none"


def test_what_an_older_session_does_not_know_is_left_out() -> None:
    session = verified(Verification(1e-3, 1e-3, 8e-3, 2))
    assert not said_of("Largest difference", session)
    assert not said_of("Worst part", session)


def test_a_size_that_is_not_verified_is_shown_as_a_flag_and_in_words() -> None:
    refused = "It refused n=37: n must be a multiple of 8"
    session = verified(Verification(1e-3, 1e-3, 8e-3, 1, unverified=refused), "n % 8 == 0")
    assert "no odd size verified" in said_of("Flags", session)
    assert said_of("Not verified", session) == refused
    assert said_of("Domain", session) == "n % 8 == 0"
    [record] = point_records(session)
    assert record.flag_no_odd_size
    assert (record.unverified, record.domain) == (refused, "n % 8 == 0")
    lines = " ".join(line.plain for line in table_lines(session, 1000))
    assert refused in lines
    verified_there = Verification(1e-3, 1e-3, 8e-3, 2)
    assert "no odd size verified" not in said_of("Flags", verified(verified_there))


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        (None, "unknown: the driver does not say"),
        ((), "nothing"),
        (("idle",), "nothing"),
        (("idle", "power cap"), "power cap"),
    ],
)
def test_a_reason_that_is_not_known_is_not_nothing(reasons: tuple[str, ...] | None, words: str) -> None:
    session = make_session()
    point = gpu_point(session)
    assert point.measured
    evidence = Evidence(clock_hz=1881e6, fresh_hz=1980e6, event_reasons=reasons)
    outcome = msgspec.structs.replace(point.measured, evidence=evidence)
    session.points = (msgspec.structs.replace(point, outcome=outcome),)
    assert said_of("Clock held by", session) == words
    assert said_of("Fresh clock", session) == "1980 MHz, 5.3 % above that of the blocks"


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        (None, ""),
        ((), "yes"),
        (
            ("its results reach the referee through its own process",),
            "not quite: its results reach the referee",
        ),
    ],
)
def test_a_point_says_whether_it_is_sealed(reasons: tuple[str, ...] | None, words: str) -> None:
    session = make_session()
    point = gpu_point(session)
    outcome = msgspec.structs.replace(point.measured, unsealed_because=reasons)
    session.points = (msgspec.structs.replace(point, outcome=outcome),)
    assert said_of("Sealed", session).startswith(words)
    assert bool(said_of("Sealed", session)) is bool(words)
    [record] = point_records(session)
    assert record.is_sealed == (None if reasons is None else not reasons)


def test_one_block_has_no_interval_and_says_so() -> None:
    session = make_session()
    point = gpu_point(session)
    assert point.measured
    one = TimeStats(1e-3, 1e-3, 1e-3, (1e-3,), 8, (0,), (1500e6,), 1500e6)  # as older sessions stored it
    outcome = msgspec.structs.replace(point.measured, time=one)
    session.points = (msgspec.structs.replace(point, outcome=outcome),)
    assert said_of("Device time", session) == "1.000 ms (± not known: 1 block)"
    assert said_of("95 % interval", session) == "not known: 1 block"
    assert said_of("Unstable", session) == "Only 1 block was kept, and an interval needs 5."
    assert said_of("At a clock of", session) == "1500 MHz"
