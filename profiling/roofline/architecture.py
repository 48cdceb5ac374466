"""Architectures that code can be compiled for without a GPU, and the GPU that stands for each."""

import re

from roofscope.profiling.roofline.products import PRODUCTS, Product, UnknownProduct, find_product

DEFAULT_ARCHITECTURE = "sm_90"
# What NVIDIA's compilers make code for and a GPU is known of.
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
_NUMBER = re.compile(r"(?:sm_|compute_)?(\d{1,2})\.?(\d)[af]?")


class UnknownArchitecture(Exception):
    """The text is one sentence that says what is known."""


def architecture_named(text: str) -> str:
    """``sm_90`` of ``sm_90a``, ``90``, ``9.0`` or a GPU's name such as ``RTX 4090``.

    Raises UnknownArchitecture.
    """
    if match := _NUMBER.fullmatch(text.strip().lower()):
        found = f"sm_{match[1]}{match[2]}"
    else:
        try:
            found = architecture_of(find_product(text).compute_capability)
        except UnknownProduct:
            found = ""
    if found in ARCHITECTURES:
        return found
    raise UnknownArchitecture(
        f"{text[:60]!r} is no architecture known here; choose from {', '.join(ARCHITECTURES)}, "
        "or name a GPU such as 'RTX 4090'."
    )


def architecture_of(capability: tuple[int, int]) -> str:
    """``sm_90`` of (9, 0)."""
    return f"sm_{capability[0]}{capability[1]}"


def capability_of(architecture: str) -> tuple[int, int]:
    """(9, 0) of ``sm_90`` and of ``sm_90a``. Raises UnknownArchitecture."""
    match = _NUMBER.fullmatch(architecture)
    if match is None:
        raise UnknownArchitecture(f"{architecture[:60]!r} is no architecture.")
    return int(match[1]), int(match[2])


def gpu_of(architecture: str) -> Product | None:
    """The largest GPU of it that is known, which says how many multiprocessors a launch may count on."""
    try:
        capability = capability_of(architecture)
    except UnknownArchitecture:
        return None
    found = [product for product in PRODUCTS if product.compute_capability == capability]
    return max(found, key=lambda product: product.multiprocessor_count, default=None)
