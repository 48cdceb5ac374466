"""``ceilings``: measures a device's ceilings and prints them, each with where it comes from."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from roofscope.app.cli.choice import choose_devices
from roofscope.app.cli.documents import CeilingsDocument, print_document
from roofscope.app.cli.errors import (
    BUSY,
    DONE,
    SOME_FAILED,
    STOPPED,
    codes_of_each,
    complain,
    refuse,
    refuse_unusable,
)
from roofscope.app.cli.options import AsJson, DeviceNames, SharedGpu
from roofscope.app.cli.progress import make_console, progress_shown
from roofscope.app.presentation.formatting import bandwidth_text, flop_rate_text
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.devices.host import package_version
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.results.session import timestamp
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.roofline.nameplate import nameplate, nameplate_gap
from roofscope.profiling.roofline.roofline import Bound, Ceiling
from roofscope.profiling.supervision.protocol import Probe
from roofscope.profiling.supervision.readiness import refusal
from roofscope.profiling.supervision.recording import Ending, carry_out
from roofscope.profiling.supervision.run_events import CeilingArrived, CeilingsComplete, RunEvent

_STOPPED = "Stopped: what was measured until then is not kept."


class _Found(Struct, frozen=True):
    """Measured ceilings, and how it came to them."""

    ceilings: Sequence[Ceiling]
    is_kept: bool = False
    ending: Ending = Ending()


def command(
    device: DeviceNames = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is kept.")] = False,
    shared_gpu: SharedGpu = False,
    as_json: AsJson = False,
) -> None:
    """Measure what a device can do at most: memory and arithmetic, and what its data sheet says.

    Several devices are measured one after the other.
    """
    chosen = choose_devices(local_devices(), device)
    if as_json and len(chosen) > 1:
        refuse("--json prints one document; name one device, and call this for each.")
    measure = partial(show_ceilings, fresh=fresh, as_json=as_json, may_share=shared_gpu)
    codes = codes_of_each(chosen, measure)
    raise typer.Exit(next((code for code in codes if code != DONE), DONE))


def show_ceilings(
    device: Device, *, fresh: bool = False, as_json: bool = False, may_share: bool = False
) -> int:
    """Print all ceilings of a device, measured now where none are kept; the exit code, or STOPPED."""
    console = make_console(stderr=as_json)
    cache = CeilingCache(console.print)
    key = CacheKey.of(device, package_version("torch"))
    kept = () if fresh else cache.load(key)
    found = _Found(kept, is_kept=True) if kept else _measure(console, device, cache, key, may_share=may_share)
    refuse_unusable(found.ending)
    if found.ending.busy:
        complain(found.ending.busy)
    if as_json:
        print_document(
            CeilingsDocument(
                device=device,
                ceilings=(*found.ceilings, *nameplate(device, timestamp())),
                is_kept=found.is_kept,
                problem=_STOPPED if found.ending.was_stopped else found.ending.busy,
            )
        )
    else:
        _print(console, device, found)
    if found.ending.busy:
        return BUSY
    if found.ending.was_stopped:
        return STOPPED
    return DONE if found.ceilings else SOME_FAILED


def _measure(
    console: Console, device: Device, cache: CeilingCache, key: CacheKey, *, may_share: bool
) -> _Found:
    """What a probe finds, kept for later only when it went through to its end."""
    if reason := refusal([device], console.print, may_share=may_share):
        return _Found((), ending=Ending.refused(reason))
    found: list[Ceiling] = []
    with progress_shown(console) as watch:

        def handle(report: RunEvent) -> None:
            match report:
                case CeilingArrived(ceiling=ceiling):
                    found.append(ceiling)
                case CeilingsComplete():
                    cache.save(key, found)
                case _:
                    pass
            watch(report, None)

        ending = carry_out([Probe("ceilings", device.id)], scan(), (), handle)
    return _Found(found, ending=ending)


def _print(console: Console, device: Device, found: _Found) -> None:
    if found.ending.was_stopped:
        console.print(_STOPPED)
    if not found.ceilings and (found.ending.was_stopped or found.ending.busy):
        return
    console.print(_table(device, [*found.ceilings, *nameplate(device, timestamp())]), highlight=False)
    if gap := nameplate_gap(device):
        console.print(gap, markup=False)
    if found.is_kept:
        newest = max(ceiling.recorded_at for ceiling in found.ceilings)[:16].replace("T", " ")
        console.print(f"Measured on {newest} UTC and kept; --fresh measures them again.", markup=False)


def _table(device: Device, ceilings: list[Ceiling]) -> Table:
    """By bound, then measured before promised, then by value."""
    title = f"{device.name} ({device.id})"
    table = Table(box=None, title=title, title_justify="left", pad_edge=False)
    for header in ("bound", "mix", "value", "provenance", "how"):
        table.add_column(header, justify="right" if header == "value" else "left", no_wrap=header != "how")
    for ceiling in sorted(ceilings, key=_order):
        text = bandwidth_text if ceiling.bound.is_memory else flop_rate_text
        table.add_row(
            ceiling.bound.label, ceiling.mix or "", text(ceiling.value), ceiling.source, ceiling.method
        )
    return table


def _order(ceiling: Ceiling) -> tuple[int, int, float]:
    return list(Bound).index(ceiling.bound), ceiling.source.rank, -ceiling.value
