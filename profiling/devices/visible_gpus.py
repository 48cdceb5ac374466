"""Which GPUs CUDA shows to a process, by the rules of CUDA_VISIBLE_DEVICES.

See "CUDA environment variables" in NVIDIA's CUDA C++ Programming Guide. The list ends at the first
entry that names no GPU; an entry given twice leaves none; a UUID may be shortened while it stays unique.
"""

from collections.abc import Sequence

from msgspec import Struct


class GpuIdentity(Struct, frozen=True):
    uuid: str
    is_slice: bool = False  # a MIG slice


def visible_gpus(gpus: Sequence[GpuIdentity], setting: str | None) -> tuple[str, ...]:
    """UUIDs in the order CUDA numbers them.

    ``gpus`` come in PCI bus order; ``setting`` is the variable's text, None when it is not set.
    """
    if setting is None:
        return _default(gpus)
    chosen: list[str] = []
    for entry in setting.split(","):
        uuid = _find(gpus, entry.strip())
        if uuid is None:
            break
        chosen.append(uuid)
    return tuple(chosen) if len(set(chosen)) == len(chosen) else ()


def _default(gpus: Sequence[GpuIdentity]) -> tuple[str, ...]:
    """Whole GPUs; where there are none, the first MIG slice: CUDA uses one slice per process."""
    whole = tuple(gpu.uuid for gpu in gpus if not gpu.is_slice)
    return whole or tuple(gpu.uuid for gpu in gpus[:1])


def _find(gpus: Sequence[GpuIdentity], entry: str) -> str | None:
    if entry.isdecimal():
        index = int(entry)
        return gpus[index].uuid if index < len(gpus) else None
    if not entry.upper().startswith(("GPU-", "MIG-")):
        return None
    found = [gpu.uuid for gpu in gpus if gpu.uuid.lower().startswith(entry.lower())]
    return found[0] if len(found) == 1 else None
