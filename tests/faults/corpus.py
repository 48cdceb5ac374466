"""What the faults are: each a kernel's file that says so in its docstring, or a row of a table.

Every fault becomes a folder of a user's kernels, and an honest kernel is planned after it.
"""

import ast
import shutil
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).parent
_WORKLOAD = FOLDER.parent / "adversaries" / "workloads" / "doubled"
_HONEST = "def run(x):\n    return x * 2\n"
LEFT_OUT = "left out"  # of a folder that is no kernel: the user reads why, and nothing of it is planned
MEASURED = "measured"


class CorpusError(ValueError):
    """A file of the corpus does not say what it must; the text is one sentence."""


class Need(StrEnum):
    CPU = "cpu"
    CUDA = "cuda"
    TRITON = "triton"
    NVRTC = "nvrtc"  # a .cu of the same stem lies beside the file, which launches it


class Role(StrEnum):
    """Which file of a kernel's folder the fault is."""

    EAGER = "eager"
    COMPILE = "compile"  # eager.py under torch.compile
    REFERENCE = "reference"
    SPEC = "spec"
    TRITON = "triton_fault"
    CUDA = "cuda_fault"


class Target(StrEnum):
    """Whom a signal is for. The order is that of the processes: each is a child of the one before."""

    GUARD = "guard"  # stands between the program and its worker
    WORKER = "worker"
    FORK_SERVER = "fork server"
    CANDIDATE = "candidate"


class Shot(Struct, frozen=True):
    """A signal as soon as the fault's kernel is in a stage."""

    target: Target
    signal: int
    stage: str
    whole_group: bool = False


class Around(Struct, frozen=True):
    """What is wrong with the surroundings of a run. ``prefix`` is shell code before its command."""

    prefix: str = ""
    redirect: str = ""
    at_stage: str = ""  # of the fault's kernel, at which ``act`` is called with the run's folder
    act: Callable[[Path], None] | None = None
    may_end: bool = False  # the run early, with one of the fault's words; else it must go on


class Fault(Struct, frozen=True):
    """``right``: kinds of outcomes that are right; ``says``: of these words the user must read one."""

    name: str
    title: str
    group: str
    right: tuple[str, ...] = (MEASURED,)
    says: tuple[str, ...] = ()
    needs: Need = Need.CPU
    role: Role = Role.EAGER
    path: Path | None = None
    make: Callable[[Path], None] | None = None  # breaks the kernel's folder, which is there
    shot: Shot | None = None
    around: Around | None = None
    is_sticky: bool = False  # an error of CUDA that stays until the process ends
    is_compiling: bool = False  # which has minutes: from outside it looks like a kernel that never ends
    is_alone: bool = False  # not to be tried in one run with others
    honest: str = ""  # the kernel after it, where others have the same one

    @property
    def after(self) -> str:
        """The honest kernel that is planned after it."""
        return self.honest or f"after_{self.name}"

    @property
    def is_planned(self) -> bool:
        return self.right != (LEFT_OUT,)

    @property
    def stem(self) -> str:
        return {Role.TRITON: "triton_fault", Role.CUDA: "cuda_fault", Role.COMPILE: "compile_default"}.get(
            self.role, "eager"
        )


def read_corpus() -> tuple[Fault, ...]:
    """Those of kernels' files, then those of the tables. Raises CorpusError."""
    from roofscope.tests.faults import folders, shots, surroundings

    files = [_read(path) for path in sorted((FOLDER / "kernels").glob("*/*.py"))]
    return (*files, *folders.FAULTS, *shots.FAULTS, *surroundings.FAULTS)


def write_kernels(root: Path, fault: Fault) -> None:
    """The fault's folder, and that of the honest kernel after it."""
    for name in (fault.name, fault.after):
        folder = root / name
        if folder.exists():
            continue
        folder.mkdir(parents=True)
        for file in ("spec.py", "reference.py"):
            shutil.copyfile(_WORKLOAD / file, folder / file)
        (folder / "eager.py").write_text(_HONEST)
    if fault.path is not None:
        _place(root / fault.name, fault.path, fault.role)
    if fault.make is not None:
        fault.make(root / fault.name)


def _place(folder: Path, path: Path, role: Role) -> None:
    stem = "eager" if role is Role.COMPILE else role.value
    if role in (Role.TRITON, Role.CUDA):
        (folder / "eager.py").unlink()
    shutil.copyfile(path, folder / f"{stem}.py")
    source = path.with_suffix(".cu")
    if source.exists():
        shutil.copyfile(source, folder / f"{stem}.cu")


def _read(path: Path) -> Fault:
    text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    head, _, tail = text.rpartition("\n\n")
    cells = {key: value.strip() for key, _, value in (line.partition(":") for line in tail.splitlines())}
    needs = Need(cells.get("needs", "cpu"))
    default = {Need.TRITON: Role.TRITON, Need.NVRTC: Role.CUDA}.get(needs, Role.EAGER)
    if not head or not cells.get("right"):
        raise CorpusError(f"The docstring of {path.name} does not say what the fault is and what is right.")
    return Fault(
        name=path.stem,
        title=" ".join(head.split()),
        group=path.parent.name,
        right=_parts(cells["right"]),
        says=_parts(cells.get("says", "")),
        needs=needs,
        role=Role(cells.get("as", default)),
        path=path,
        is_sticky="sticky" in cells,
        is_compiling="compiles" in cells,
        is_alone="alone" in cells or "compiles" in cells,
    )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
