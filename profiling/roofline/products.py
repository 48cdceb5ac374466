"""GPUs by name, with what their nameplate needs: to ask what a point's bound is on one that is not here.

Multiprocessors, memory clock and bus as the driver of such a GPU reports them; their product is the data
sheet's bandwidth, which each row names. Rates and clocks are those of ``nameplate.py``.
"""

import re

from msgspec import Struct

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.roofline.nameplate import nameplate
from roofscope.profiling.roofline.roofline import Ceiling


class Product(Struct, frozen=True):
    """One GPU that is sold: what the driver calls it, and what people do."""

    label: str
    driver_name: str
    compute_capability: tuple[int, int]
    multiprocessor_count: int
    memory_clock_hz: float
    bus_width_bits: int

    @property
    def device(self) -> Device:
        return Device(
            id="cuda:0",
            kind=DeviceKind.CUDA,
            name=self.driver_name,
            uuid=f"product {self.label}",
            multiprocessor_count=self.multiprocessor_count,
            compute_capability=self.compute_capability,
            max_memory_clock_hz=self.memory_clock_hz,
            bus_width_bits=self.bus_width_bits,
        )

    @property
    def ceilings(self) -> tuple[Ceiling, ...]:
        """Of its nameplate, as a session of such a device has them before anything is measured."""
        return nameplate(self.device, "")


PRODUCTS = (
    Product("V100 SXM2", "Tesla V100-SXM2-16GB", (7, 0), 80, 877e6, 4096),  # 900 GB/s
    Product("T4", "Tesla T4", (7, 5), 40, 5001e6, 256),  # 320 GB/s
    Product("A100 40GB", "NVIDIA A100-SXM4-40GB", (8, 0), 108, 1215e6, 5120),  # 1555 GB/s
    Product("A100 80GB", "NVIDIA A100-SXM4-80GB", (8, 0), 108, 1593e6, 5120),  # 2039 GB/s
    Product("RTX 3090", "NVIDIA GeForce RTX 3090", (8, 6), 82, 9751e6, 384),  # 936 GB/s
    Product("L4", "NVIDIA L4", (8, 9), 58, 6251e6, 192),  # 300 GB/s
    Product("L40S", "NVIDIA L40S", (8, 9), 142, 9001e6, 384),  # 864 GB/s
    Product("RTX 4090", "NVIDIA GeForce RTX 4090", (8, 9), 128, 10501e6, 384),  # 1008 GB/s
    Product("H100 PCIe", "NVIDIA H100 PCIe", (9, 0), 114, 1593e6, 5120),  # 2039 GB/s
    Product("H100 SXM", "NVIDIA H100 80GB HBM3", (9, 0), 132, 2619e6, 5120),  # 3352 GB/s
    Product("H200", "NVIDIA H200", (9, 0), 132, 3201e6, 6016),  # 4.8 TB/s
    # Drivers of before 2026 say 8192 bit; a sixteenth of it is off (pytorch/ao#4002).
    Product("B200", "NVIDIA B200", (10, 0), 148, 3996e6, 7680),  # 7.7 TB/s, NVIDIA Blackwell data sheet
    Product("RTX 5090", "NVIDIA GeForce RTX 5090", (12, 0), 170, 14001e6, 512),  # 1792 GB/s
)

_NOISE = frozenset(("nvidia", "geforce", "tesla", "gpu"))


class UnknownProduct(Exception):
    """The text is one sentence: which names are known, or which of several is meant."""


def find_product(name: str) -> Product:
    """By its name as people write it: ``RTX 4090``, ``4090``, ``H100 SXM``. Raises UnknownProduct."""
    words = _words(name)
    exact = [product for product in PRODUCTS if _words(product.label) == words]
    found = exact or [product for product in PRODUCTS if words and words <= _words(product.label)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(product.label for product in found)
        raise UnknownProduct(f"{name[:60]!r} may be {names}; say which.")
    known = ", ".join(product.label for product in PRODUCTS)
    raise UnknownProduct(f"No data sheet of a GPU named {name[:60]!r} is known here; choose from {known}.")


def _words(name: str) -> frozenset[str]:
    """``RTX4090`` and ``rtx 4090`` are the same; makers' names say nothing."""
    parted = re.sub(r"(?<=rtx)(?=\d)", " ", name.lower())
    return frozenset(re.findall(r"\w+", parted)) - _NOISE
