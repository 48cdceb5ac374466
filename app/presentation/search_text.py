"""What a search looks through: names in every spelling that people type, what came of it, what limits it."""

from roofscope.app.presentation.formatting import size_and_fill_text
from roofscope.app.presentation.point_row import reason_text, status_text
from roofscope.app.presentation.tokens import PROVIDER_NAMES
from roofscope.profiling.analysis.verdict import Verdict
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, Workload
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Point


def spellings(*names: str) -> str:
    """Lower-case names as they are, and with what joins their parts changed or left out."""
    text = " ".join(names).lower()
    return " ".join((text, text.replace("_", "-"), text.replace("_", " "), text.replace("_", "")))


def implementation_text(implementation: Implementation) -> str:
    return spellings(implementation.key, implementation.label)


def workload_text(workload: Workload) -> str:
    """Sizes and dtype, short and in full; the sign between sizes as it can be typed, too."""
    short = size_and_fill_text(workload).lower()
    dtype = workload.dtype
    return " ".join((dtype, dtype.label, workload.size_label.lower(), short, short.replace("×", "x")))


def is_found(words: list[str], text: str) -> bool:
    """Whether every word is somewhere in the text; ``layernorm`` finds ``layer_norm``."""
    return all(word in text for word in words)


# The parts of what is looked through of a point, in lower case: many points share the first.


def job_text(implementation: Implementation, job: Job) -> str:
    provider = PROVIDER_NAMES[implementation.provider]
    names = f"{implementation_text(implementation)} {workload_text(job.workload)}"
    return f"{names} {provider} {job.regime} {job.device}".lower()


def outcome_text(point: Point) -> str:
    return f"{status_text(point)} {reason_text(point)}".lower()


def said_text(mark: Mark) -> str:
    return " ".join((mark.note, *mark.tags)).lower()


def judged_text(judged: Verdict) -> str:
    return " ".join((judged.kind, *judged.flags)).lower()


def search_text(point: Point, judged: Verdict, mark: Mark) -> str:
    """All of it."""
    parts = (job_text(point.implementation, point.job), outcome_text(point), said_text(mark))
    return " ".join((*parts, judged_text(judged)))
