"""Units get their prefixes here and nowhere else."""

import math

import pytest

from roofscope.app.presentation import formatting as f


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.2341e-3, "1.234 ms"),
        (9.91e-6, "9.910 µs"),
        (0.99996e-3, "1.000 ms"),  # rounds up into the next prefix
        (999.94e-6, "999.9 µs"),
        (86e-9, "86.00 ns"),
        (2.0, "2.000 s"),
        (0.0, "0 s"),
        (None, f.MISSING),
        (math.nan, f.MISSING),
        (math.inf, f.MISSING),
    ],
)
def test_times(seconds: float | None, text: str) -> None:
    assert f.time_text(seconds) == text


def test_rates_are_decimal_and_memory_is_binary() -> None:
    assert f.bandwidth_text(4277e9) == "4.28 TB/s"
    assert f.flop_rate_text(796.4e12) == "796 TFLOP/s"
    assert f.flop_rate_text(1394e12) == "1.39 PFLOP/s"
    assert f.flop_rate_text(0.0) == "0 FLOP/s"
    assert f.traffic_text(268_435_456) == "268 MB"
    assert f.memory_text(150_754_820_096) == "140 GiB"
    assert f.memory_text(60 * 1024**2) == "60.0 MiB"
    assert f.memory_text(1023) == "1023 B"
    assert f.memory_text(1024) == "1.00 KiB"


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.913, "91 %"),
        (0.0432, "4.3 %"),
        (0.996, "99.6 %"),
        (1.004, "100.4 %"),  # never rounded down to the roof
        (1.0, "100 %"),
        (1.3, "130 %"),
        (0.0004, "0.04 %"),
        (0.0, "0 %"),
        (None, f.MISSING),
    ],
)
def test_percents(fraction: float | None, text: str) -> None:
    assert f.percent_text(fraction) == text


def test_ratios_and_intervals() -> None:
    assert f.ratio_text(1.0712, 1.05, 1.09) == "1.07× (1.05 to 1.09)"
    assert f.ratio_text(12.34) == "12.3×"
    assert f.ratio_text(None) == f.MISSING
    assert f.interval_text(0.0061) == "± 0.61 %"
    assert f.interval_text(0.0) == "± 0 %"


def test_an_interval_wider_than_its_time_is_told_by_its_ends() -> None:
    assert f.spread_text(1e-3, (0.99e-3, 1.01e-3), 9) == "± 1.0 %"
    assert f.spread_time_text(1e-3, (0.99e-3, 1.01e-3), 9) == "1.000 ms ± 1.0 %"
    assert f.spread_text(1e-3, (0.13e-3, 7.8e-3), 9) == "130 µs to 7.8 ms"
    assert f.spread_time_text(1e-3, (0.13e-3, 7.8e-3), 9) == "1.000 ms (130 µs to 7.8 ms)"
    assert f.spread_text(1e-3, None, 1) == "not known: 1 block"
    assert f.spread_time_text(1e-3, None, 3) == "1.000 ms (± not known: 3 blocks)"


def test_device_readings() -> None:
    assert f.clock_text(1980e6) == "1980 MHz"
    assert f.power_text(698.4) == "698 W"
    assert f.temperature_text(51.2) == "51 °C"
    for text in (f.clock_text, f.power_text, f.temperature_text, f.memory_text, f.error_text):
        assert text(None) == f.MISSING


@pytest.mark.parametrize(
    ("log10_value", "text"),
    [
        (-2, "0.01"),
        (-1, "0.1"),
        (math.log10(0.05), "0.05"),
        (0, "1"),
        (2, "100"),
        (3, "1 k"),
        (math.log10(20e3), "20 k"),
        (math.log10(2.5e3), "2.5 k"),
        (12, "1 T"),
        (15, "1 P"),
    ],
)
def test_axis_ticks(log10_value: float, text: str) -> None:
    assert f.tick_text(log10_value) == text


def test_sizes_fold_powers_of_1024() -> None:
    assert f.sizes_text({"rows": 32768, "cols": 4096}) == "32Ki × 4Ki"
    assert f.sizes_text({"m": 8192, "n": 8192, "k": 8192}) == "8Ki³"
    assert f.sizes_text({"n": 1001}) == "1001"
    assert f.sizes_text({"n": 0}) == "0"


def test_waits() -> None:
    assert [f.duration_text(s) for s in (0.4, 59.4, 125, 3800)] == ["0 s", "59 s", "2 min 5 s", "1 h 3 min"]


def test_an_end_that_is_not_one_does_not_read_as_one() -> None:
    assert f.range_text(0.995, 0.9996) == "0.9950 to 0.9996"
    assert f.range_text(1.0004, 1.02) == "1.0004 to 1.0200"
    assert f.range_text(0.995, 1.0) == "0.995 to 1.000"


def test_both_ends_of_an_interval_round_one_have_the_digits_of_its_width() -> None:
    assert f.range_text(0.997, 1.00003) == "0.9970 to 1.0001"  # 1 stays inside
    assert f.range_text(0.99998, 1.00003) == "0.999980 to 1.000030"
    assert f.range_text(0.95, 1.2) == "0.950 to 1.200"
    assert f.range_text(12.3, 132) == "12.3 to 132"
