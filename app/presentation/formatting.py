"""The only place where SI values get prefixes and become text. Decimal prefixes; GiB for memory.

Every function takes None for "not known" and answers MISSING, so that no view has to ask first.
"""

import math
from collections.abc import Mapping

from roofscope.profiling.planning.spec import Workload
from roofscope.profiling.results.outcome import Difference

MISSING = "–"

_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS = {2: "²", 3: "³"}
_MOST_BESIDE_ONE = 6  # digits of an end of an interval of ratios
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def si_text(value: float | None, unit: str, digits: int = 3) -> str:
    """A value with a decimal prefix and ``digits`` significant digits: ``4.28 TB/s``."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return f"0 {unit}"
    rounded = _round(value, digits)  # first round: 999.96 k must become 1.000 M
    exponent = 3 * math.floor(_exponent(rounded) / 3)
    exponent = min(max(exponent, min(_PREFIXES)), max(_PREFIXES))
    return f"{_significant(rounded / 10.0**exponent, digits)} {_PREFIXES[exponent]}{unit}"


def time_text(seconds: float | None) -> str:
    """``1.234 ms``, ``9.910 µs``."""
    return si_text(seconds, "s", 4)


def part_text(seconds: float | None, whole_s: float) -> str:
    """A part of a time that time_text shows, to the same last digit, so that it never exceeds its whole.

    A part below a hundredth has three digits of its own.
    """
    if seconds is None or not math.isfinite(seconds) or whole_s <= 0 or abs(seconds) < whole_s / 100:
        return si_text(seconds, "s")
    return _to_last_digit(seconds, *_last_digit(whole_s))


def rest_text(part_s: float, whole_s: float) -> str:
    """What part_text of a part leaves of time_text of the whole, so that the two add up."""
    rest_s = whole_s - part_s
    if whole_s <= 0 or min(part_s, rest_s) < whole_s / 100:
        return part_text(rest_s, whole_s)
    exponent, decimals = _last_digit(whole_s)
    shown = round(whole_s / 10.0**exponent, decimals) - round(part_s / 10.0**exponent, decimals)
    return _to_last_digit(shown * 10.0**exponent, exponent, decimals)


def _to_last_digit(seconds: float, exponent: int, decimals: int) -> str:
    """Below 1 of its prefix in the next one: ``264 µs`` of 1.349 ms."""
    shown = round(seconds / 10.0**exponent, decimals)
    if abs(shown) < 1 and exponent > min(_PREFIXES):
        exponent, decimals, shown = exponent - 3, max(0, decimals - 3), shown * 1000
    return f"{shown:.{decimals}f} {_PREFIXES[exponent]}s"


def _last_digit(whole_s: float) -> tuple[int, int]:
    """The exponent of the prefix that time_text gives, and how many decimals."""
    power = _exponent(_round(whole_s, 4))
    exponent = min(max(3 * math.floor(power / 3), min(_PREFIXES)), max(_PREFIXES))
    return exponent, max(0, 3 - power + exponent)


def time_short_text(seconds: float | None) -> str:
    """For sentences: two digits are enough to say what is at stake, ``12 µs``."""
    return si_text(seconds, "s", 2)


def bandwidth_text(bytes_per_s: float | None) -> str:
    """``4.28 TB/s``, decimal as in every datasheet."""
    return si_text(bytes_per_s, "B/s")


def flop_rate_text(flop_per_s: float | None) -> str:
    """``796 TFLOP/s``."""
    return si_text(flop_per_s, "FLOP/s")


def flop_count_text(flop_count: float | None) -> str:
    return si_text(flop_count, "FLOP")


def traffic_text(byte_count: float | None) -> str:
    """Bytes moved, decimal so that they divide by a time into a bandwidth: ``268 MB``."""
    return si_text(byte_count, "B")


def memory_text(byte_count: float | None) -> str:
    """Bytes of a memory or cache, binary: ``140 GiB``, ``60.0 MiB``."""
    if byte_count is None:
        return MISSING
    power = 0
    while power < len(_BINARY) - 1 and byte_count >= 1024 ** (power + 1):
        power += 1
    if power == 0:
        return f"{byte_count:.0f} B"
    return f"{_significant(byte_count / 1024**power, 3)} {_BINARY[power]}B"


def intensity_text(flop_per_byte: float | None) -> str:
    """Arithmetic intensity: ``0.0833 FLOP/B``, ``2730 FLOP/B``; never with a prefix, as in papers."""
    if flop_per_byte is None or not math.isfinite(flop_per_byte):
        return MISSING
    return f"{_significant(flop_per_byte, 3)} FLOP/B"


def clock_text(hertz: float | None) -> str:
    """``1980 MHz``: drivers and datasheets count GPU clocks in whole MHz."""
    return MISSING if hertz is None else f"{hertz / 1e6:.0f} MHz"


def clock_range_text(middle: float, low: float, high: float) -> str:
    """``1978 MHz, 1975 to 1979``; one value where all are the same."""
    text = clock_text(middle)
    return text if clock_text(low) == clock_text(high) else f"{text}, {low / 1e6:.0f} to {high / 1e6:.0f}"


def power_text(watts: float | None) -> str:
    return MISSING if watts is None else f"{watts:.0f} W"


def temperature_text(celsius: float | None) -> str:
    return MISSING if celsius is None else f"{celsius:.0f} °C"


def energy_text(joules: float | None) -> str:
    return si_text(joules, "J")


def per_joule_text(amount_per_joule: float | None, unit: str) -> str:
    """``61.2 GFLOP/J``; decimal prefixes."""
    return si_text(amount_per_joule, f"{unit}/J")


def percent_text(fraction: float | None) -> str:
    """``91 %``; one decimal below 10 % and close to 100 %, where it decides."""
    if fraction is None or not math.isfinite(fraction):
        return MISSING
    percent = fraction * 100
    if abs(percent) < 0.095:
        return f"{percent:.2g} %"
    decimals = 1 if abs(percent) < 9.95 or (98.95 < percent < 101.05 and percent != 100) else 0
    return f"{percent:.{decimals}f} %"


def interval_text(relative_half_width: float | None) -> str:
    """A 95 % interval as a share of its median: ``± 0.6 %``."""
    if relative_half_width is None or not math.isfinite(relative_half_width):
        return MISSING
    return f"± {_significant(relative_half_width * 100, 2)} %"


def spread_text(median_s: float, bounds_s: tuple[float, float] | None, blocks: int) -> str:
    """A 95 % interval of a time: ``± 0.6 %``, or its ends where it is wider than the time itself.

    ``not known: 1 block`` where too few blocks were kept for one.
    """
    if bounds_s is None:
        return f"not known: {counted_text(blocks, 'block')}"
    low_s, high_s = bounds_s
    half_width = (high_s - low_s) / 2 / median_s
    if half_width <= 1:
        return interval_text(half_width)
    return f"{time_short_text(low_s)} to {time_short_text(high_s)}"


def spread_time_text(median_s: float, bounds_s: tuple[float, float] | None, blocks: int) -> str:
    """A time with its interval: ``1.234 ms ± 0.6 %``, ``16.00 µs (0.97 µs to 7.8 ms)``.

    ``1.234 ms (± not known: 1 block)`` where there is none.
    """
    spread = spread_text(median_s, bounds_s, blocks)
    text = time_text(median_s)
    if bounds_s is None:
        return f"{text} (± {spread})"
    return f"{text} {spread}" if spread.startswith("±") else f"{text} ({spread})"


def ratio_text(ratio: float | None, low: float | None = None, high: float | None = None) -> str:
    """``1.07×``, with its interval where given: ``1.07× (1.05 to 1.09)``."""
    if ratio is None or not math.isfinite(ratio):
        return MISSING
    if low is None or high is None:
        return f"{_significant(ratio, 3)}×"
    ends = range_text(low, high)
    return f"{_within(ratio, ends)}× ({ends})"


def _within(ratio: float, ends: str) -> str:
    """With so many digits that it lies between the ends as they are written."""
    low, high = map(float, ends.split(" to "))
    texts = (_significant(ratio, digits) for digits in range(3, _MOST_BESIDE_ONE))
    return next((text for text in texts if low <= float(text) <= high), _significant(ratio, 3))


def range_text(low: float, high: float) -> str:
    """Ends of an interval of ratios: ``1.05 to 1.09``; a fourth digit where three make them one.

    An end that is not 1 does not read as 1, since on which side of it an interval lies is its judgement. Near
    1 both ends have as many decimals: those that tell the interval's width, or keep an end from reading as 1.
    """
    digits = 3 if _significant(low, 3) != _significant(high, 3) else 4
    texts = _significant(low, digits), _significant(high, digits)
    if low < 1 < high and any(float(text) == 1 for text in texts):
        decimals = min(math.ceil(-math.log10(high - low)) + 1, _MOST_BESIDE_ONE)
        scale = 10**decimals  # outwards, so that 1 stays inside
        ends = math.floor(low * scale) / scale, math.ceil(high * scale) / scale
        return " to ".join(f"{end:.{decimals}f}" for end in ends)
    texts = _beside_one(low, digits), _beside_one(high, digits)
    if max(low, high) >= 10:
        return " to ".join(texts)
    decimals = max(len(text.partition(".")[2]) for text in texts)
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


def _beside_one(value: float, digits: int) -> str:
    text = _significant(value, digits)
    while float(text) == 1 and value != 1 and digits < _MOST_BESIDE_ONE:
        digits += 1
        text = _significant(value, digits)
    return text


def error_text(relative_error: float | None) -> str:
    """A relative error of a verification: ``3.1e-08``."""
    return MISSING if relative_error is None else f"{relative_error:.1e}"


def difference_text(difference: Difference) -> str:
    """``7.6e-06 at row 17, column 3 of output y: 0.5 instead of 0.25``; ``none`` where there is none."""
    if not difference.absolute:
        return "none"
    instead = f"{difference.found:.6g} instead of {difference.expected:.6g}"
    return f"{error_text(difference.absolute)} at {difference.place}: {instead}"


def duration_text(seconds: float | None) -> str:
    """A wait, for people: ``45 s``, ``2 min 5 s``, ``1 h 3 min``."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def count_text(count: int | None) -> str:
    """``16 896``: digits in groups of three, with a no-break space."""
    return MISSING if count is None else f"{count:,}".replace(",", "\u00a0")


def counted_text(count: int, noun: str) -> str:
    """``1 point``, ``12 points``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def break_even_text(calls: float | None) -> str:
    """``1 234 calls``; ``never`` where no number of calls is enough."""
    if calls is None:
        return MISSING
    if not math.isfinite(calls):
        return "never"
    return "1 call" if calls == 1 else f"{count_text(int(calls))} calls"


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Sizes short enough for a chart: ``32Ki × 4Ki``, ``8Ki³``; whole powers of 1024 are folded."""
    if len(sizes) in _POWERS and len(set(sizes.values())) == 1:
        return folded_text(next(iter(sizes.values()))) + _POWERS[len(sizes)]
    return " × ".join(folded_text(size) for size in sizes.values())


def size_and_fill_text(workload: Workload) -> str:
    """The sizes of a workload, and its fill where that is not the usual one: ``8Ki³, N(0,1)``."""
    return f"{sizes_text(workload.sizes)}{workload.fill_label}"


def tick_text(log10_value: float) -> str:
    """A tick of a log axis without its unit: ``0.01``, ``100``, ``1 k``, ``20 T``."""
    if -4 <= round(log10_value, 9) < 3:
        return f"{10**log10_value:.3g}"
    exponent = min(max(3 * math.floor(log10_value / 3 + 1e-9), min(_PREFIXES)), max(_PREFIXES))
    return f"{10 ** (log10_value - exponent):.3g} {_PREFIXES[exponent]}"


def tick_value_text(value: float, unit: str) -> str:
    """A tick with its unit, and no digits that it does not need: ``0``, ``1.5 TB/s``, ``20 µs``."""
    if value == 0:
        return "0"
    text = si_text(value, unit, 4)
    number, gap, rest = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}{gap}{rest}"


def folded_text(size: int) -> str:
    """One size: ``4Ki``, ``98432``; whole powers of 1024 are folded."""
    power = 0
    while size and size % 1024 == 0 and power < len(_BINARY) - 1:
        size, power = size // 1024, power + 1
    return f"{size}{_BINARY[power]}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value)) + 1e-12)


def _round(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def _significant(value: float, digits: int) -> str:
    """Plain decimal text with at least ``digits`` significant digits, trailing zeros kept."""
    if value == 0:
        return "0"
    rounded = _round(value, digits)
    return f"{rounded:.{max(0, digits - 1 - _exponent(rounded))}f}"
