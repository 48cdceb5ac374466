"""Sessions in memory with values that no machine gives, but that are of the right types.

The reader refuses most of them in a file; what shows sessions must bear them nevertheless.
"""

import json
import random
from functools import cache
from typing import Any

import msgspec

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, KernelSpec
from roofscope.profiling.results.outcome import Measured, Outcome
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.results.session import Identity, Origin, Point, Session, TraceInfo
from roofscope.profiling.roofline.roofline import Ceiling
from roofscope.tests.fuzz.mutate import changed_value, retyped
from roofscope.tests.sessions import DEVICE, ENVIRONMENT, RECORDED_AT, make_session

_CHOSEN = (0, 1, 2, 5, 6, 11, 20, 30, 33, 35, 40)


@cache
def good_session() -> Session:
    session = make_session()
    session.points = tuple(
        msgspec.structs.replace(session.points[at], number=number, origin=1)
        for number, at in enumerate(_CHOSEN, 1)
    )
    session.origins = (Origin(1, ENVIRONMENT, DEVICE.id, RECORDED_AT),)
    session.ceiling_origins = (1,) * len(session.ceilings)
    session.proofs = (Proof(ProofName.COLD_CACHE, True, "", "Below."),)
    first = session.points[0]
    session.traces = (TraceInfo(1, first.job, first.implementation, RECORDED_AT, 100),)
    session.identity = Identity("uuid", "0.1", {"commit": "3f2a"})
    return session


def hostile_session(chance: random.Random) -> Session:
    """One to three parts of a good session changed."""
    good = good_session()
    session = msgspec.structs.replace(good)
    session.specs = dict(good.specs)
    for _ in range(chance.randint(1, 3)):
        _change(session, chance)
    return session


def _change(session: Session, chance: random.Random) -> None:
    match chance.randrange(16):
        case 0:
            session.ceilings = _one_changed(session.ceilings, Ceiling, chance)
        case 1:
            session.ceilings = tuple(session.ceilings[chance.randrange(20) :][: chance.randrange(4)])
            session.ceiling_origins = (1,) * len(session.ceilings)
        case 2:
            name = chance.choice(list(session.specs))
            session.specs[name] = _changed(session.specs[name], KernelSpec, chance)
        case 3:
            session.specs.pop(chance.choice(list(session.specs)), None)
        case 4:
            session.environment = _changed(ENVIRONMENT, Environment, chance)
            session.device = next(iter(session.environment.devices), None)
            session.origins = (Origin(1, session.environment, DEVICE.id, RECORDED_AT),)
        case 5:
            session.identity = _changed(session.identity, Identity, chance)
        case 6:
            session.proofs = _one_changed(session.proofs, Proof, chance)
        case 7:
            session.traces = _one_changed(session.traces, TraceInfo, chance)
        case 8:
            session.created_at = chance.choice(("", "x", "\x1b", "9" * 5000, "\u202e"))
        case 9:
            session.points = session.points[: chance.randrange(3)] * chance.choice((1, 3))
        case _:
            at = chance.randrange(len(session.points)) if session.points else None
            if at is not None:
                changed = _changed_point(session.points[at], chance)
                session.points = (*session.points[:at], changed, *session.points[at + 1 :])


def _changed_point(point: Point, chance: random.Random) -> Point:
    match chance.randrange(6):
        case 0:
            return msgspec.structs.replace(point, job=_changed(point.job, Job, chance))
        case 1:
            changed = _changed(point.implementation, Implementation, chance)
            return msgspec.structs.replace(point, implementation=changed)
        case 2:
            return _changed(point, Point, chance)
        case _:
            return msgspec.structs.replace(point, outcome=_changed(point.outcome, Outcome, chance))


def _one_changed(parts: tuple[Any, ...], kind: Any, chance: random.Random) -> tuple[Any, ...]:
    if not parts:
        return parts
    at = chance.randrange(len(parts))
    return (*parts[:at], _changed(parts[at], kind, chance), *parts[at + 1 :])


def _changed(good: Any, kind: Any, chance: random.Random) -> Any:
    """The same kind of value with other contents; the same where no change fits its type."""
    plain = msgspec.to_builtins(good)
    for attempt in range(8):
        change = retyped if attempt < 6 else changed_value
        try:
            return decode(json.dumps(change(plain, chance)), kind)  # which is the way in for all of them
        except UnreadableError:
            continue
    return good


def with_time(median_s: float, **changes: Any) -> Session:
    """A good session whose first point has this time."""
    session = msgspec.structs.replace(good_session())
    first = session.points[0]
    assert isinstance(first.outcome, Measured)
    time = msgspec.structs.replace(first.outcome.time, median_s=median_s, **changes)
    outcome = msgspec.structs.replace(first.outcome, time=time)
    session.points = (msgspec.structs.replace(first, outcome=outcome), *session.points[1:])
    return session
