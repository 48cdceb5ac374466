"""The proofs that the program's number is the true one, as values: what was found, against which limit.

The worker measures them (``profiling/worker/selftest``), ``analysis/selftest_limits`` judges them, the
session keeps them.
"""

from enum import StrEnum

from msgspec import Struct


class ProofName(StrEnum):
    """The proofs, in the order in which they are carried out."""

    KNOWN_DURATION = "known duration"
    SAME_CALLABLE = "same callable twice"
    PLANTED_SLOWDOWN = "planted slowdown"
    PROFILER = "profiler"
    NSIGHT_COMPUTE = "nsight compute"
    COLD_CACHE = "cold is cold"
    HOST_NOISE = "host noise"
    KNOWN_WORK = "known work"
    TRAPS = "traps"
    CAUSAL_LIMITER = "causal limiter"


class Judgement(StrEnum):
    """What becomes of a proof."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"  # the host's noise forbids to say
    SKIPPED = "skipped"


class Unit(StrEnum):
    """What a column of figures counts."""

    SECONDS = "s"
    BANDWIDTH = "B/s"
    FLOP_RATE = "FLOP/s"
    FRACTION = "fraction"  # 0.01 is 1 %
    RATIO = "ratio"
    COUNT = "count"


class Column(Struct, frozen=True):
    name: str
    unit: Unit


class Row(Struct, frozen=True):
    """One line of a proof's figures, one value a column; None where there is none."""

    label: str
    values: tuple[float | None, ...] = ()
    passed: bool | None = None  # None: for information, not judged
    note: str = ""


class Proof(Struct, frozen=True):
    """One proof. ``passed`` is None where nothing was judged, and one of the reasons says why."""

    name: ProofName
    passed: bool | None
    finding: str  # one sentence with the figures that decide
    limit: str  # what it must keep to pass, one sentence
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    reason_skipped: str = ""
    duration_s: float | None = None  # how long it took
    recorded_at: str = ""  # ISO 8601, UTC
    reason_inconclusive: str = ""

    @property
    def judgement(self) -> Judgement:
        if self.passed is not None:
            return Judgement.PASSED if self.passed else Judgement.FAILED
        return Judgement.INCONCLUSIVE if self.reason_inconclusive else Judgement.SKIPPED


def all_passed(proofs: tuple[Proof, ...]) -> bool:
    """Whether at least one passed and all others were skipped, which says nothing either way."""
    found = {proof.judgement for proof in proofs}
    return Judgement.PASSED in found and found <= {Judgement.PASSED, Judgement.SKIPPED}
