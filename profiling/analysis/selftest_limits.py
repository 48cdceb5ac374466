"""Judges what the self-test measured. Pure arithmetic; each limit is stated once, here.

docs/measuring.md has the results on real devices. Each function returns a proof that lacks only its time and
duration.
"""

import statistics
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.analysis.agreement import TOLERANCE, TOLERANCE_S, Agreement
from roofscope.profiling.analysis.statistics import Comparison
from roofscope.profiling.results.proof import Column, Proof, ProofName, Row, Unit

SLOPE_WITHIN = 0.002
OFFSET_WITHIN_S = 0.2e-6  # the GPU's own clock ticks every 32 ns, on some GPUs every 1 µs
# Kernels below about 4 µs end before the device's front end has gone idle: on four H200s they read 0.17 µs
# less than longer ones by the headline's method and 0.25 µs less between events of their own.
SINGLE_OFFSET_WITHIN_S = 0.3e-6
OFFSET_WITHIN = 0.002  # of a long duration
MOST_CALLED_DIFFERENT = 0.05
MOST_MEDIAN_DIFFERENCE = 0.001
LEAST_FOUND = 0.95
PLANTED = 0.01
LEAST_HOT = 1.5  # times the DRAM read ceiling
MOST_COLD = 1.0
MOST_DEVICE_MOVES = 0.005
PLANTED_SLEEP_S = 200e-6
SLEEP_WITHIN = 0.2
WORK_WITHIN = 0.05
PURE_WITHIN = 0.03  # of an elasticity of 0 or 1
MIX_WITHIN = 0.05
MOST_WAITED = 0.02  # of a proof's time, for a core; a quiet machine has 0.1 to 1 %

LIMITS = {
    ProofName.KNOWN_DURATION: (
        f"Slope 1 within {SLOPE_WITHIN:g}; one constant offset, from which no duration strays by more than "
        f"{OFFSET_WITHIN_S * 1e6:g} µs ({SINGLE_OFFSET_WITHIN_S * 1e6:g} µs for single calls) or "
        f"{100 * OFFSET_WITHIN:g} %."
    ),
    ProofName.SAME_CALLABLE: (
        f"Called different in at most {100 * MOST_CALLED_DIFFERENT:g} % of the comparisons; median "
        f"difference at most {100 * MOST_MEDIAN_DIFFERENCE:g} %."
    ),
    ProofName.PLANTED_SLOWDOWN: (
        f"{100 * PLANTED:g} % more work is found in at least {100 * LEAST_FOUND:g} % of the comparisons."
    ),
    ProofName.PROFILER: (
        f"Every call of one kernel within {100 * TOLERANCE:g} % or {TOLERANCE_S * 1e6:g} µs of the kernel's "
        "time in CUPTI: undisturbed, in cycles, or while CUPTI looks on, since it slows some kernels."
    ),
    ProofName.NSIGHT_COMPUTE: (
        f"Every call within {100 * TOLERANCE:g} % or {TOLERANCE_S * 1e6:g} µs of gpu__time_duration with the "
        "clocks untouched, less the constant by which ncu reads a kernel of known duration longer."
    ),
    ProofName.COLD_CACHE: (
        f"A quarter of L2 is read at more than {LEAST_HOT:g} x the DRAM read ceiling when hot, at no more "
        f"than {MOST_COLD:g} x when cold."
    ),
    ProofName.HOST_NOISE: (
        f"{PLANTED_SLEEP_S * 1e6:g} µs of waiting planted in the call move the device time by less than "
        f"{100 * MOST_DEVICE_MOVES:g} % and the host time by as much, within {100 * SLEEP_WITHIN:g} %."
    ),
    ProofName.KNOWN_WORK: (
        f"Known bytes and known FLOPs land on their ceilings within {100 * WORK_WITHIN:g} %."
    ),
    ProofName.TRAPS: "Every planted cheat is refused or flagged, and the honest twin is not.",
    ProofName.CAUSAL_LIMITER: (
        f"-d ln t / d ln f is 1 for a spin of fixed cycles and 0 for a DRAM copy within {PURE_WITHIN:g}, and "
        f"what was planted for mixes within {MIX_WITHIN:g}, in order."
    ),
}


# Nothing of a trap depends on the readings of a clock except whether a remembered result is faster.
_TIMED_ON_CPU = (
    *(ProofName.KNOWN_DURATION, ProofName.SAME_CALLABLE, ProofName.PLANTED_SLOWDOWN, ProofName.KNOWN_WORK),
)


class Line(Struct, frozen=True):
    """``reading = slope * known + offset_s``."""

    slope: float
    offset_s: float
    is_straight: bool  # every reading is within the limit of the line


class Rate(Struct, frozen=True):
    """A rate by the headline engine beside the ceiling that the probe measured."""

    label: str
    unit: Unit
    rate: float
    ceiling: float
    note: str = ""

    @property
    def lands(self) -> bool:
        return abs(self.rate / self.ceiling - 1) <= WORK_WITHIN


class Quiet(Struct, frozen=True):
    """Device time by one timer, without and with the planted wait."""

    label: str
    plain_s: float
    noisy_s: float

    @property
    def moves(self) -> float:
        return self.noisy_s / self.plain_s - 1


def skipped(name: ProofName, reason: str) -> Proof:
    """A proof that cannot be carried out here. ``reason`` is one sentence."""
    return Proof(name, None, "Skipped.", LIMITS[name], reason_skipped=reason)


def judged_beside_noise(proof: Proof, waited: float, *, on_cpu: bool) -> Proof:
    """A failure that the host's noise explains is inconclusive; a proof that passes in spite of it stands.

    waited: seconds that threads of this process were ready and had no core, over the proof's seconds. On a
    GPU only host time depends on them.
    """
    timed_by_host = _TIMED_ON_CPU if on_cpu else (ProofName.HOST_NOISE,)
    has_failed = proof.passed is False and bool(proof.rows)  # without rows it broke, which is no noise
    if not has_failed or proof.name not in timed_by_host or waited <= MOST_WAITED:
        return proof
    reason = (
        f"Inconclusive, because other work had the cores: threads of this process waited for one for "
        f"{waited:.2g} s of every second. End it and prove again. Found was: {proof.finding}"
    )
    rows = tuple(replace(row, passed=row.passed or None) for row in proof.rows)
    return replace(proof, passed=None, rows=rows, reason_inconclusive=reason)


def fit_line(
    known_s: Sequence[float], readings_s: Sequence[float], within_s: float = OFFSET_WITHIN_S
) -> Line:
    """Least squares; two values at least."""
    slope, offset_s = statistics.linear_regression(known_s, readings_s)
    strays = [abs(r - slope * k - offset_s) for k, r in zip(known_s, readings_s, strict=True)]
    straight = all(
        stray <= max(within_s, OFFSET_WITHIN * k) for stray, k in zip(strays, known_s, strict=True)
    )
    return Line(slope, offset_s, straight)


def judge_durations(
    known_s: Sequence[float], headlines_s: Sequence[float], singles_s: Sequence[float] | None
) -> Proof:
    """Readings of a kernel of known duration; ``singles_s`` by events round single calls, offset included."""
    headline = fit_line(known_s, headlines_s)
    single = fit_line(known_s, singles_s, SINGLE_OFFSET_WITHIN_S) if singles_s else None
    lines = [headline, *([single] if single else [])]
    finding = f"Headline: slope {headline.slope:.4f}, offset {headline.offset_s * 1e6:.2f} µs"
    if single:
        finding += f"; single calls: slope {single.slope:.4f}, offset {single.offset_s * 1e6:.2f} µs"
    columns = [Column("headline", Unit.SECONDS), Column("off the line", Unit.SECONDS)]
    if singles_s:
        columns += [Column("single call", Unit.SECONDS), Column("off the line", Unit.SECONDS)]
    rows: list[Row] = []
    for index, known in enumerate(known_s):
        values = [headlines_s[index], headlines_s[index] - headline.slope * known - headline.offset_s]
        if singles_s and single:
            values += [singles_s[index], singles_s[index] - single.slope * known - single.offset_s]
        rows.append(Row(f"{known * 1e6:g} µs", tuple(values)))
    passed = all(abs(line.slope - 1) <= SLOPE_WITHIN and line.is_straight for line in lines)
    return _proof(ProofName.KNOWN_DURATION, passed, f"{finding}.", columns, rows)


_COMPARISONS = (
    Column("comparisons", Unit.COUNT),
    Column("called different", Unit.COUNT),
    Column("median difference", Unit.FRACTION),
    Column("median half-width", Unit.FRACTION),
)


def judge_same(
    comparisons: Sequence[Comparison], others: Sequence[tuple[str, Sequence[Comparison]]]
) -> Proof:
    """Comparisons of a callable with itself; ``others`` are shown beside them and not judged."""
    different = sum(comparison.distinguishable for comparison in comparisons)
    difference = statistics.median(abs(comparison.ratio - 1) for comparison in comparisons)
    passed = different <= MOST_CALLED_DIFFERENT * len(comparisons) and difference <= MOST_MEDIAN_DIFFERENCE
    rows = [
        _compared("as implementations of one job", comparisons, passed),
        *(_compared(label, found, None) for label, found in others),
    ]
    finding = (
        f"Called different in {different} of {len(comparisons)} comparisons; median difference "
        f"{100 * difference:.3f} %."
    )
    return _proof(ProofName.SAME_CALLABLE, passed, finding, _COMPARISONS, rows)


def judge_slowdown(comparisons: Sequence[Comparison]) -> Proof:
    """Comparisons of the slower callable over the other one."""
    found = sum(comparison.low > 1 for comparison in comparisons)
    middle = statistics.median(comparison.ratio for comparison in comparisons)
    passed = found >= LEAST_FOUND * len(comparisons)
    finding = f"Found in {found} of {len(comparisons)} comparisons; median ratio {middle:.4f}."
    rows = [_compared(f"{100 * PLANTED:g} % more elements", comparisons, passed)]
    return _proof(ProofName.PLANTED_SLOWDOWN, passed, finding, _COMPARISONS, rows)


def judge_agreement(
    name: ProofName, found: Sequence[Agreement], instrument: str, others: Sequence[str], remark: str = ""
) -> Proof:
    """The headline against another instrument; ``others`` names further instruments, for information."""
    verdicts = [row.agrees for row in found if row.agrees is not None]
    judged = [row for row in found if row.agrees is not None]
    worst = max(judged, key=lambda row: row.share_of_limit or 0.0, default=None)
    finding = f"{sum(verdicts)} of {len(verdicts)} calls agree"
    if worst is not None and worst.difference is not None and worst.other_s is not None:
        finding += (
            f"; the farthest is {worst.label}: {100 * worst.difference:+.1f} %, "
            f"{(worst.other_s - worst.headline_s) * 1e6:+.2f} µs"
        )
    columns = [
        Column("headline", Unit.SECONDS),
        Column(instrument, Unit.SECONDS),
        Column("difference", Unit.FRACTION),
        Column("headline meanwhile", Unit.SECONDS),
        Column("clock meanwhile", Unit.RATIO),
        *(Column(other, Unit.SECONDS) for other in others),
    ]
    rows = [Row(r.label, (*_figures(r), *r.more_s), r.agrees, r.note) for r in found]
    return _proof(name, bool(verdicts) and all(verdicts), f"{finding}.{remark}", columns, rows)


def _figures(found: Agreement) -> tuple[float | None, ...]:
    seconds, clock_ratio = (
        (found.meanwhile.seconds, found.meanwhile.clock_ratio) if found.meanwhile else (None, None)
    )
    return found.headline_s, found.other_s, found.difference, seconds, clock_ratio


def judge_cold(hot_rate: float, cold_rate: float, ceiling: float, note: str) -> Proof:
    """Read rates of a quarter of L2 in byte/s, launch taken off, against the DRAM read ceiling."""
    is_hot, is_cold = hot_rate > LEAST_HOT * ceiling, cold_rate <= MOST_COLD * ceiling
    finding = f"Hot {hot_rate / ceiling:.2f} x, cold {cold_rate / ceiling:.2f} x the DRAM read ceiling."
    columns = (Column("read rate", Unit.BANDWIDTH), Column("of the ceiling", Unit.RATIO))
    rows = (
        Row("hot, one buffer set", (hot_rate, hot_rate / ceiling), is_hot, note),
        Row("cold, rotated sets", (cold_rate, cold_rate / ceiling), is_cold),
        Row("DRAM read ceiling", (ceiling, 1.0)),
    )
    return _proof(ProofName.COLD_CACHE, is_hot and is_cold, finding, columns, rows)


def judge_noise(timers: Sequence[Quiet], host_plain_s: float, host_noisy_s: float) -> Proof:
    """Device times by each timer, and host time a call, without and with the planted wait."""
    grown_s = host_noisy_s - host_plain_s
    host_saw = abs(grown_s / PLANTED_SLEEP_S - 1) <= SLEEP_WITHIN
    columns = (
        Column("quiet", Unit.SECONDS),
        Column("with the wait", Unit.SECONDS),
        Column("moves", Unit.FRACTION),
        Column("grows by", Unit.SECONDS),
    )
    rows = [
        Row(t.label, (t.plain_s, t.noisy_s, t.moves, t.noisy_s - t.plain_s), abs(t.moves) < MOST_DEVICE_MOVES)
        for t in timers
    ]
    rows.append(Row("host time", (host_plain_s, host_noisy_s, None, grown_s), host_saw))
    farthest = max((t.moves for t in timers), key=abs)
    finding = f"Device time moves by {100 * farthest:+.2f} %, host time grows by {grown_s * 1e6:.0f} µs."
    return _proof(ProofName.HOST_NOISE, all(row.passed for row in rows), finding, columns, rows)


def judge_work(rates: Sequence[Rate], not_done: Sequence[Row] = ()) -> Proof:
    """Rates by the headline engine; ``not_done`` are rows of what could not be measured here."""
    columns = (
        Column("bandwidth", Unit.BANDWIDTH),
        Column("FLOP rate", Unit.FLOP_RATE),
        Column("of the ceiling", Unit.RATIO),
    )
    rows = [
        Row(
            r.label,
            (
                r.rate if r.unit is Unit.BANDWIDTH else None,
                r.rate if r.unit is Unit.FLOP_RATE else None,
                r.rate / r.ceiling,
            ),
            r.lands,
            r.note,
        )
        for r in rates
    ]
    finding = "; ".join(
        f"{rate.label} at {100 * rate.rate / rate.ceiling:.1f} % of its ceiling" for rate in rates
    )
    passed = bool(rates) and all(rate.lands for rate in rates)
    return _proof(
        ProofName.KNOWN_WORK, passed, f"{finding[:1].upper()}{finding[1:]}.", columns, [*rows, *not_done]
    )


def judge_traps(cheats: Sequence[Row], honest: Row) -> Proof:
    """Each row's ``passed`` says whether the engine treated it correctly; None where it does not apply."""
    tried = [row for row in cheats if row.passed is not None]
    caught = sum(bool(row.passed) for row in tried)
    finding = f"{caught} of {len(tried)} planted cheats refused or flagged"
    finding += "; the honest twin measured" if honest.passed else "; the honest twin was refused or flagged"
    passed = bool(tried) and caught == len(tried) and bool(honest.passed)
    return _proof(ProofName.TRAPS, passed, f"{finding}.", (), [*cheats, honest])


def _proof(
    name: ProofName, passed: bool, finding: str, columns: Sequence[Column], rows: Sequence[Row]
) -> Proof:
    return Proof(name, passed, finding, LIMITS[name], tuple(columns), tuple(rows))


def _compared(label: str, comparisons: Sequence[Comparison], passed: bool | None) -> Row:
    values = (
        float(len(comparisons)),
        float(sum(comparison.distinguishable for comparison in comparisons)),
        statistics.median(abs(comparison.ratio - 1) for comparison in comparisons),
        statistics.median(comparison.relative_half_width for comparison in comparisons),
    )
    return Row(label, values, passed)
