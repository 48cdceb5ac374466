"""``device``: the sheet of a GPU or the CPU, as its driver tells it, and its state now."""

from msgspec.structs import replace

from roofscope.app.cli.choice import choose_device
from roofscope.app.cli.documents import DeviceDocument, print_document
from roofscope.app.cli.options import AsJson, DeviceName
from roofscope.app.cli.output import say
from roofscope.app.presentation.formatting import (
    MISSING,
    clock_text,
    count_text,
    memory_text,
    percent_text,
    power_text,
    temperature_text,
)
from roofscope.profiling.devices.cuda_driver import l2_cache_bytes
from roofscope.profiling.devices.device import Device, DeviceKind, DeviceState
from roofscope.profiling.devices.discovery import LocalDevices, default_device

_WORDS = {True: "on", False: "off", None: MISSING}


def command(device: DeviceName = None, as_json: AsJson = False) -> None:
    """Print the sheet of the GPU or the CPU: units, memory, clocks, power. What is not known is a dash."""
    source = LocalDevices()
    try:
        devices = source.find()
        chosen = choose_device(devices, device, default_device(devices))
        state = source.state(chosen)
    finally:
        source.close()
    if chosen.kind is DeviceKind.CUDA:  # which NVML does not tell
        chosen = replace(chosen, last_level_cache_bytes=l2_cache_bytes(chosen.uuid))
    if as_json:
        print_document(DeviceDocument(device=chosen, state=state))
        return
    rows = sheet(chosen, state)
    width = max(map(len, rows))
    for name, text in rows.items():
        say(f"{name:<{width}}  {text}")


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
        "ECC": _WORDS[device.ecc_enabled],
        "MIG": _WORDS[device.mig_enabled],
        "power": f"{power_text(state.power_w)} now, limit {power_text(device.power_limit_w)}",
        "temperature": temperature_text(state.temperature_c),
        **load,
        "clock held by": _held_by(state),
        "other processes": ", ".join(str(process.pid) for process in device.processes) or "none",
    }


def _held_by(state: DeviceState) -> str:
    if state.event_reasons is None:
        return "unknown: the driver does not say"
    return ", ".join(state.event_reasons) or "nothing"


def _now_and_at_most(now_hz: float | None, most_hz: float | None) -> str:
    return f"{clock_text(now_hz)} now, {clock_text(most_hz)} at most"
