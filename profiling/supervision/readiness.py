"""Whether devices may be measured on now; asked before a worker is started, which takes seconds."""

import os
from collections.abc import Callable, Collection, Iterable

from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.sharing import Sharing, sharing_of


def refusal(devices: Iterable[Device], notice: Callable[[str], None], *, may_share: bool = False) -> str:
    """Why not, in a sentence or some; "" where nothing is against it. ``notice``: what must be said else."""
    reasons: list[str] = []
    for device in devices:
        if reason := busy_because(device):
            reasons.append(reason)
            continue
        sharing = sharing_of(device)
        if sharing.is_computing and not may_share:
            reasons.append(
                f"{sharing.why_not_free(named(device))} Its times would be wrong: wait until it is free, "
                "choose another device, or measure nevertheless with --shared-gpu."
            )
        elif said := sharing.notice(named(device)):
            notice(said)
    return " ".join(reasons)


def busy_because(device: Device) -> str:
    """One sentence where another Roofscope measures on the device; "" where none does, or none can tell."""
    if os.name != "posix":
        return ""
    from roofscope.profiling.devices.device_lock import why_busy  # which Windows has not

    return why_busy(device.uuid, device.name)


def sharing_beside(device: Device, own: Collection[int]) -> Sharing:
    """As ``sharing_of``, with our own processes known."""
    return sharing_of(device, own)


def named(device: Device) -> str:
    """Such as ``NVIDIA H200 (cuda:0)``: twins have one name."""
    return f"{device.name} ({device.id})"
