"""What a search looks through: names in every spelling that people type."""

from roofscope.app.presentation.formatting import sizes_text
from roofscope.profiling.planning.spec import Implementation, Workload


def spellings(*names: str) -> str:
    """Lower-case names as they are, and with what joins their parts changed or left out."""
    text = " ".join(names).lower()
    return " ".join((text, text.replace("_", "-"), text.replace("_", " "), text.replace("_", "")))


def implementation_text(implementation: Implementation) -> str:
    return spellings(implementation.key, implementation.label)


def workload_text(workload: Workload) -> str:
    """Sizes and dtype, short and in full; the sign between sizes as it can be typed, too."""
    short = sizes_text(workload.sizes).lower()
    dtype = workload.dtype
    return " ".join((dtype, dtype.label, workload.size_label.lower(), short, short.replace("×", "x")))


def is_found(words: list[str], text: str) -> bool:
    """Whether every word is somewhere in the text; ``layernorm`` finds ``layer_norm``."""
    return all(word in text for word in words)
