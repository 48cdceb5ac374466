"""Measures a device's ceilings and prints them, each with where it comes from."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from roofscope.app.cli.errors import DONE, SOME_FAILED
from roofscope.app.cli.progress import make_console, progress_shown
from roofscope.app.presentation.formatting import bandwidth_text, flop_rate_text
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.host import package_version
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.results.session import timestamp
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.roofline.nameplate import nameplate, nameplate_gap
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Source
from roofscope.profiling.supervision.protocol import Probe
from roofscope.profiling.supervision.recording import carry_out
from roofscope.profiling.supervision.run_events import CeilingArrived, CeilingsComplete, RunEvent


def show_ceilings(device: Device, *, fresh: bool = False) -> int:
    """Print all ceilings of a device, measured now where none are kept; returns the exit code."""
    console = make_console()
    cache = CeilingCache(console.print)
    key = CacheKey.of(device, package_version("torch"))
    kept = () if fresh else cache.load(key)
    measured, was_stopped = (kept, False) if kept else _measure(console, device, cache, key)
    if was_stopped:
        console.print("Stopped: what was measured until then is not kept.")
        if not measured:
            return SOME_FAILED
    console.print(_table(device, [*measured, *nameplate(device, timestamp())]), highlight=False)
    if gap := nameplate_gap(device):
        console.print(gap, markup=False)
    if kept:
        newest = max(ceiling.recorded_at for ceiling in kept)[:16].replace("T", " ")
        console.print(f"Measured on {newest} UTC and kept; --fresh measures them again.", markup=False)
    return DONE if measured and not was_stopped else SOME_FAILED


def _measure(
    console: Console, device: Device, cache: CeilingCache, key: CacheKey
) -> tuple[Sequence[Ceiling], bool]:
    """What a probe finds, kept for later only when it went through to its end; and whether it was stopped."""
    found: list[Ceiling] = []

    def handle(report: RunEvent) -> None:
        match report:
            case CeilingArrived(ceiling=ceiling):
                found.append(ceiling)
            case CeilingsComplete():
                cache.save(key, found)
            case _:
                pass

    with progress_shown(console) as watch:

        def pass_on(report: RunEvent) -> None:
            handle(report)
            watch(report, None)

        ending = carry_out([Probe("ceilings", device.id)], scan([LIBRARY]), (), pass_on)
    return found, ending.was_stopped


def _table(device: Device, ceilings: list[Ceiling]) -> Table:
    """By bound, then measured before promised, then by value."""
    title = f"{device.name} ({device.id})"
    table = Table(box=None, title=title, title_justify="left", pad_edge=False)
    for header in ("bound", "mix", "value", "provenance", "how"):
        table.add_column(header, justify="right" if header == "value" else "left", no_wrap=header != "how")
    for ceiling in sorted(ceilings, key=_order):
        text = bandwidth_text if ceiling.bound.is_memory else flop_rate_text
        table.add_row(
            ceiling.bound.upper(), ceiling.mix or "", text(ceiling.value), ceiling.source, ceiling.method
        )
    return table


def _order(ceiling: Ceiling) -> tuple[int, int, float]:
    return list(Bound).index(ceiling.bound), _SOURCES.index(ceiling.source), -ceiling.value


_SOURCES = (Source.MEASURED_BURST, Source.MEASURED_SUSTAINED, Source.NAMEPLATE_HELD, Source.NAMEPLATE)
