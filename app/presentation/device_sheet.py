"""The sheet of a device: what its driver tells, and its ceilings, nameplate beside measured."""

from collections.abc import Iterable, Sequence

from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    clock_text,
    count_text,
    flop_rate_text,
    memory_text,
    percent_text,
    power_text,
    temperature_text,
)
from roofscope.app.presentation.table_text import Table, markdown_table
from roofscope.profiling.devices.device import Device, DeviceKind, DeviceState
from roofscope.profiling.devices.host import package_version
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.session import timestamp
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.roofline.nameplate import nameplate
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Mix

_WORDS = {True: "on", False: "off", None: MISSING}
_TITLES = ("Ceiling", "Measured", "Nameplate", "Of nameplate", "Measured on")


def sheet(device: Device, state: DeviceState) -> dict[str, str]:
    """Name and text of each line, in the order to print."""
    is_gpu = device.kind is DeviceKind.CUDA
    head = {"name": device.name, "id": device.id, "UUID": device.uuid}
    clocks = {
        "clock": _now_and_at_most(state.clock_hz, device.max_clock_hz),
        "cores": count_text(device.core_count),
    }
    memory = {"memory": f"{memory_text(device.memory_bytes)}, {memory_text(state.memory_used_bytes)} in use"}
    load = {"utilization": percent_text(state.utilization)}
    if not is_gpu:
        return {**head, **clocks, "L3 cache": memory_text(device.last_level_cache_bytes), **memory, **load}
    capability = device.compute_capability
    return {
        **head,
        "driver": device.driver_version or MISSING,
        "compute capability": ".".join(map(str, capability)) if capability else MISSING,
        "multiprocessors": count_text(device.multiprocessor_count),
        **clocks,
        "L2 cache": memory_text(device.last_level_cache_bytes),
        **memory,
        "memory clock": _now_and_at_most(state.memory_clock_hz, device.max_memory_clock_hz),
        "memory bus": f"{device.bus_width_bits} bit" if device.bus_width_bits else MISSING,
        "application clocks": _application_clocks(device),
        "ECC": _WORDS[device.ecc_enabled],
        "MIG": _WORDS[device.mig_enabled],
        "power": f"{power_text(state.power_w)} now, limit {power_text(device.power_limit_w)}",
        "temperature": temperature_text(state.temperature_c),
        **load,
        "clock held by": _held_by(state),
        "other processes": ", ".join(str(process.pid) for process in device.processes) or "none",
    }


def known_ceilings(device: Device, cache: CeilingCache) -> tuple[Ceiling, ...]:
    """What is known of a device without measuring: its data sheet, and what was measured before and kept."""
    kept = cache.load(CacheKey.of(device, package_version("torch")))
    return (*nameplate(device, timestamp()), *kept)


def ceiling_rows(ceilings: Iterable[Ceiling]) -> Table:
    """A row each limit, titles first: the newest measured value beside the one of the data sheet."""
    measured: dict[tuple[Bound, Mix | None], Ceiling] = {}
    promised: dict[tuple[Bound, Mix | None], Ceiling] = {}
    for ceiling in ceilings:
        (promised if ceiling.is_nameplate else measured)[ceiling.bound, ceiling.mix] = ceiling
    order = list(Bound)
    keys = sorted({*measured, *promised}, key=lambda key: (order.index(key[0]), key[1] or ""))
    return (_TITLES, *(_row(key, measured.get(key), promised.get(key)) for key in keys))


def sheet_markdown(device: Device, state: DeviceState, ceilings: Sequence[Ceiling]) -> str:
    """The whole sheet, as a document takes it."""
    facts = (("Property", "Value"), *sheet(device, state).items())
    parts = [f"## {one_line(device.name)}", markdown_table(facts)]
    if len(rows := ceiling_rows(ceilings)) > 1:
        parts.append(markdown_table(rows))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _row(key: tuple[Bound, Mix | None], measured: Ceiling | None, promised: Ceiling | None) -> Sequence[str]:
    bound, mix = key
    text = bandwidth_text if bound.is_memory else flop_rate_text
    share = percent_text(measured.value / promised.value) if measured and promised and promised.value else ""
    return (
        f"{bound.label} {mix or ''}".rstrip(),
        text(measured.value) if measured else "",
        text(promised.value) if promised else "",
        share,
        measured.recorded_at[:10] if measured else "",
    )


def _application_clocks(device: Device) -> str:
    """Those that an administrator asked for."""
    if device.application_clock_hz is None and device.application_memory_clock_hz is None:
        return MISSING
    memory = clock_text(device.application_memory_clock_hz)
    return f"{clock_text(device.application_clock_hz)}, memory {memory}"


def _held_by(state: DeviceState) -> str:
    if state.event_reasons is None:
        return "unknown: the driver does not say"
    return ", ".join(state.event_reasons) or "nothing"


def _now_and_at_most(now_hz: float | None, most_hz: float | None) -> str:
    return f"{clock_text(now_hz)} now, {clock_text(most_hz)} at most"
