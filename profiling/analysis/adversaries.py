"""A corpus of cheats and honest controls: what each is, the kernel made of it, and what is a right answer.

Each file is one implementation. The end of its docstring says in lines ``key: value`` what it needs and what
a judge must answer; the file is parsed for that and not run. ``workloads/`` has honest specs and references.
"""

import ast
import shutil
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.analysis.verdict import flags_of
from roofscope.profiling.paths import PACKAGE
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import (
    Cancelled,
    Examined,
    Failed,
    FailureKind,
    Flag,
    Measured,
    Outcome,
    SkipKind,
    Skipped,
)
from roofscope.profiling.results.session import Point, Session

CORPUS = PACKAGE / "tests" / "adversaries"  # of a checkout: an installed package has no tests
HONEST = "honest"  # the group of the controls
MEASURED = "measured"
# Flags that tell a reader that the time is not that of the work. An unstable time may be true; so may one
# beside other work, of an honest version.
TELLING = frozenset((Flag.PROFILER_DISAGREES, Flag.REMEMBERS, Flag.ABOVE_ROOF))
_DEADLY = "kill"  # the group that comes last: a judge that dies of it has answered the rest
_KINDS = frozenset((MEASURED, *FailureKind, *SkipKind))


class CorpusError(ValueError):
    """A file of the corpus does not say what it must; the text is one sentence."""


class Need(StrEnum):
    """What an adversary needs. Those of a CPU run on a GPU as well."""

    CPU = "cpu"
    CUDA = "cuda"
    TRITON = "triton"
    NVRTC = "nvrtc"  # a .cu of the same stem lies beside the file, which launches it


_STEMS = {Need.TRITON: "triton_adversary", Need.NVRTC: "cuda_adversary"}


class Adversary(Struct, frozen=True):
    """One file of the corpus. Its name is the file's, and that of the kernel made of it."""

    path: Path
    title: str
    group: str  # the class of cheat: the folder's name, or ``honest``
    source: str  # where it was published
    needs: Need
    workload: str
    right: tuple[str, ...]  # the kinds of outcomes that are right answers
    says: tuple[str, ...]  # words of which the cause of a tampering must have one
    least_s: float = 0.0  # what a call takes in truth at least, where a cheat may be measured by a true clock

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def stem(self) -> str:
        """The implementation's, in the kernel made of it."""
        return _STEMS.get(self.needs, "eager")

    @property
    def is_honest(self) -> bool:
        """Whether it is a control, which must be measured."""
        return self.group == HONEST

    @property
    def is_deadly(self) -> bool:
        """Whether a judge may die of it, so that it comes after all others."""
        return self.group == _DEADLY


class Answer(Struct, frozen=True):
    """What a judge said of an adversary."""

    adversary: Adversary
    answered: str  # the kind of outcome
    cause: str
    is_right: bool | None  # None where it was not tried

    @property
    def is_fooled(self) -> bool:
        """Whether a cheat has a time, or an honest control has none."""
        is_measured = self.answered == MEASURED
        return self.is_right is False and is_measured is not self.adversary.is_honest


def read_corpus(folder: Path = CORPUS) -> tuple[Adversary, ...]:
    """Cheats, then the honest controls, for which nothing may be left behind, then what may kill.

    Raises CorpusError.
    """
    cheats = [_read(path, path.parent.name) for path in sorted(folder.glob("cheats/*/*.py"))]
    honest = [_read(path, HONEST) for path in sorted(folder.glob(f"{HONEST}/*.py"))]
    return tuple(sorted([*cheats, *honest], key=lambda adversary: adversary.is_deadly))


def write_kernel(root: Path, adversary: Adversary, corpus: Path = CORPUS) -> None:
    """Make the folder that a user would make: the adversary beside its workload's spec and reference."""
    folder = root / adversary.name
    shutil.copytree(corpus / "workloads" / adversary.workload, folder)
    for suffix in (".py", ".cu"):
        file = adversary.path.with_suffix(suffix)
        if file.exists():
            shutil.copyfile(file, folder / f"{adversary.stem}{suffix}")


def judge(adversary: Adversary, job: Job, implementation: Implementation, outcome: Outcome) -> Answer:
    """Hold the outcome of an adversary against what is right."""
    match outcome:
        case Measured(time=time, method=method):
            # In a session without ceilings: a cheat that stays below the roof must be found as well.
            point = Point(1, job, implementation, outcome, "")
            telling = TELLING if adversary.is_honest else TELLING | {Flag.PREEMPTED}
            flags = [flag for flag in flags_of(point, Session(Path(), "")) if flag in telling]
            if flags:
                return Answer(adversary, "flagged", ", ".join(flags), is_right=not adversary.is_honest)
            cause = f"{time.median_s * 1e6:.3g} µs a call by {method}"
            is_right = MEASURED in adversary.right and time.median_s >= adversary.least_s
            return Answer(adversary, MEASURED, cause, is_right=is_right)
        case Failed(kind=kind, message=message):
            return Answer(adversary, kind, message, is_right=_is_right_refusal(adversary, kind, message))
        case Skipped(kind=kind, message=message):
            return Answer(adversary, kind, message, is_right=True if kind in adversary.right else None)
        case Examined():
            return unanswered(adversary, "It was examined without a GPU, and not measured.")
        case Cancelled(message=message):
            return unanswered(adversary, message)


def unanswered(adversary: Adversary, why: str) -> Answer:
    """For an adversary that ended without an outcome of its own."""
    return Answer(adversary, "no answer", why, is_right=False)


def _is_right_refusal(adversary: Adversary, kind: FailureKind, message: str) -> bool:
    must_say = adversary.says if adversary.is_honest or kind is FailureKind.TAMPERED else ()
    return kind in adversary.right and (not must_say or any(word in message for word in must_say))


def _read(path: Path, group: str) -> Adversary:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    head, _, tail = text.rpartition("\n\n")
    cells = {key: value.strip() for key, _, value in (line.partition(":") for line in tail.splitlines())}
    try:
        right, says = (_parts(cells.get(key, "")) for key in ("right", "says"))
        if unknown := [kind for kind in right if kind not in _KINDS] or not right:
            raise ValueError(f"no kind of outcome: {unknown}")
        return Adversary(
            path=path,
            title=" ".join(head.split()),
            group=group,
            source=cells["source"],
            needs=Need(cells["needs"]),
            workload=cells["workload"],
            right=right,
            says=says,
            least_s=float(cells.get("least_us", 0)) * 1e-6,
        )
    except (KeyError, ValueError) as error:
        raise CorpusError(f"The docstring of {path.name} lacks or misspells a line: {error}.") from None


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
