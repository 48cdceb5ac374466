"""What git says of the folders that kernels lie in, as labels of a session."""

import os
import subprocess
from pathlib import Path

from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.kernel_files import printable

_PATIENCE_S = 2.0  # a folder on a slow disk must not hold up a run


def revision_labels(catalog: Catalog) -> dict[str, str]:
    """By ``git_`` and a folder's name, its revision; ``-dirty`` follows it where the folder has changes.

    A folder is left out that git does not track, and each where there is no git.
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
    # HEAD:./ is the folder itself: what is installed inside somebody's checkout is not of that checkout.
    found = _git(root, "rev-parse", "HEAD", "HEAD:./")
    changes = _git(root, "status", "--porcelain", "--", ".") if found else None
    if not found or changes is None:
        return None
    return f"{found.split()[0]}{'-dirty' if changes.strip() else ''}"


def _git(root: Path, *words: str) -> str | None:
    """What git prints; None where it fails, is absent or takes too long."""
    # Where a hook of git starts us, these name its repository and not the folder's.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # No lock is taken, so that the user's own git goes on undisturbed; no watcher is started.
    command = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(root), *words)
    try:
        done = subprocess.run(
            command,
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
