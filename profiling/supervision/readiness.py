"""Whether devices may be measured on now; asked before a worker is started, which takes seconds."""

import os
from collections.abc import Callable, Iterable

from msgspec import Struct

from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.sharing import sharing_of


class Refusal(Struct, frozen=True):
    """Why nothing can be measured, in a sentence or some. ``is_busy``: the same may work later."""

    text: str
    is_busy: bool = True


def refusal(
    devices: Iterable[Device], notice: Callable[[str], None], *, may_share: bool = False
) -> Refusal | None:
    """Why not; None where nothing is against it. ``notice``: what must be said else."""
    reasons: list[str] = []
    for device in devices:
        if reason := lock_refusal(device):
            if not reason.is_busy:
                return reason
            reasons.append(reason.text)
            continue
        sharing = sharing_of(device)
        if sharing.is_computing and not may_share:
            reasons.append(
                f"{sharing.why_not_free(named(device))} Its times would be wrong: wait until it is free, "
                "choose another device, or measure nevertheless with --shared-gpu."
            )
        elif said := sharing.notice(named(device)):
            notice(said)
    return Refusal(" ".join(reasons)) if reasons else None


def lock_refusal(device: Device) -> Refusal | None:
    """Why the device's lock cannot be taken: another Roofscope has it, or its file cannot be used."""
    if os.name != "posix":
        return None
    from roofscope.profiling.devices.device_lock import why_busy  # which Windows has not

    try:
        reason = why_busy(device.uuid, device.name)
    except OSError as error:
        return Refusal(str(error), is_busy=False)
    return Refusal(reason) if reason else None


def named(device: Device) -> str:
    """Such as ``NVIDIA H200 (cuda:0)``: twins have one name."""
    return f"{device.name} ({device.id})"
