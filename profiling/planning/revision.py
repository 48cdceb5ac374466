"""What git says of the folders that kernels lie in, as labels of a session."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.kernel_files import printable, read_file
from roofscope.profiling.planning.survey import is_own

_PATIENCE_S = 2.0  # a folder on a slow disk must not hold up a run


def revision_labels(catalog: Catalog) -> dict[str, str]:
    """By ``git_`` and a folder's name, its revision; ``-dirty`` follows it where the folder has changes.

    A folder is left out that git does not track or whose checkout others may write to; without git, each is.
    """
    labels: dict[str, str] = {}
    for root in dict.fromkeys(kernel.folder.parent for kernel in catalog.kernels):
        if revision := _revision(root):
            key = f"git_{printable(root.name)}"
            number = 2
            while key in labels:  # another folder of that name
                key = f"git_{printable(root.name)}_{number}"
                number += 1
            labels[key] = revision
    return labels


def _revision(root: Path) -> str | None:
    place = _Checkout.around(root)
    if place is None:
        return None
    # HEAD:./ is the folder itself: what is installed inside somebody's checkout is not of that checkout.
    found = _git(place, root, "rev-parse", "HEAD", "HEAD:./")
    if not found:
        return None
    # Of submodules only their revision: their changes are asked of their own configuration.
    words = ("status", "--porcelain", "--ignore-submodules=dirty", "--", ".")
    changes = _git(place, root, *words, settings=_without_filters(place, root))
    return None if changes is None else f"{found.split()[0]}{'-dirty' if changes.strip() else ''}"


class _Checkout(NamedTuple):
    """Where git would look: named to it, so that it takes no folder that is only laid out like its own."""

    files: Path
    data: Path

    @classmethod
    def around(cls, root: Path) -> "_Checkout | None":
        """None where there is none, or others may write its configuration, which names programs to run."""
        try:
            at = root.resolve()
            entry = next((found for one in (at, *at.parents) if os.path.lexists(found := one / ".git")), None)
            if entry is None or not is_own(entry):
                return None
            data = entry if entry.is_dir() else entry.parent / _line(entry).removeprefix("gitdir: ")
            common = data / _line(data / "commondir") if (data / "commondir").exists() else data
            configurations = [common / "config", data / "config.worktree"]
            asked = [data, common, *(path for path in configurations if os.path.lexists(path))]
        except (OSError, RuntimeError, ValueError):
            return None
        return cls(entry.parent, data) if all(map(is_own, asked)) else None


def _line(path: Path) -> str:
    return os.fsdecode(read_file(path)).rstrip("\r\n")


def _without_filters(place: _Checkout, root: Path) -> dict[str, str]:
    """Settings by name: git would run the filters that its configuration names on files of the folder."""
    pattern = r"^filter\..*\.(clean|smudge|process|required)$"
    named = _git(place, root, "config", "-z", "--name-only", "--get-regexp", pattern) or ""
    return {name: "false" if name.endswith(".required") else "" for name in named.split("\0") if name}


def _git(place: _Checkout, root: Path, *words: str, settings: Mapping[str, str] | None = None) -> str | None:
    """What git prints; None where it fails, is absent or takes too long."""
    # Where a hook of git starts us, these name its repository and not the folder's.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # No watcher and no hook is started.
    safe = {"core.fsmonitor": "false", "core.hooksPath": os.devnull, **(settings or {})}
    for number, (name, value) in enumerate(safe.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    variables["GIT_CONFIG_COUNT"] = str(len(safe))
    # No lock is taken, so that the user's own git goes on undisturbed.
    where = (f"--git-dir={place.data}", f"--work-tree={place.files}")
    command = ("git", "--no-optional-locks", *where, *words)
    try:
        done = subprocess.run(
            command,
            cwd=root,
            capture_output=True,
            text=True,
            errors="replace",
            env=variables,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
