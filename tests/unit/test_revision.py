"""A session's labels name the revision of each folder of kernels."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.revision import revision_labels

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def git(folder: Path, *words: str) -> str:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *author, "-C", str(folder), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    shutil.copytree(
        LIBRARY / "gelu", tmp_path / "mine" / "gelu", ignore=shutil.ignore_patterns("__pycache__")
    )
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("__pycache__\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "a")
    return tmp_path


def test_a_clean_folder_has_the_revision_alone(checkout: Path) -> None:
    assert revision_labels(scan([checkout / "mine"])) == {"git_mine": git(checkout, "rev-parse", "HEAD")}


def test_changes_in_the_folder_make_it_dirty_and_those_beside_it_do_not(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    (checkout / "notes.txt").write_text("a")
    assert revision_labels(scan([checkout / "mine"])) == {"git_mine": head}
    (checkout / "mine" / "gelu" / "triton_new.py").write_text("")
    assert revision_labels(scan([checkout / "mine"])) == {"git_mine": f"{head}-dirty"}


def test_a_folder_that_git_does_not_track_has_no_label(checkout: Path) -> None:
    shutil.copytree(checkout / "mine", checkout / "copied")
    assert revision_labels(scan([checkout / "copied"])) == {}


def test_two_folders_of_one_name_have_a_label_each(checkout: Path) -> None:
    shutil.copytree(checkout / "mine" / "gelu", checkout / "other" / "mine" / "softer")
    spec = checkout / "other" / "mine" / "softer" / "spec.py"
    spec.write_text(spec.read_text().replace('name="gelu"', 'name="softer"'))
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "b")
    head = git(checkout, "rev-parse", "HEAD")
    found = revision_labels(scan([checkout / "mine", checkout / "other" / "mine"]))
    assert found == {"git_mine": head, "git_mine_2": head}


def test_another_repository_that_the_environment_names_is_not_taken(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    catalog: Catalog = scan([checkout / "mine"])
    monkeypatch.setenv("GIT_DIR", str(checkout / "nowhere"))
    assert revision_labels(catalog) == {"git_mine": head}


@pytest.mark.parametrize("name", [".git", ".git/config", "."])
def test_a_checkout_that_others_may_write_to_is_not_asked(checkout: Path, name: str) -> None:
    """Its configuration names programs that git runs."""
    catalog = scan([checkout / "mine"])
    (checkout / name).chmod(0o777)
    assert revision_labels(catalog) == {}


def test_filters_are_not_run(checkout: Path) -> None:
    (checkout / ".gitattributes").write_text("*.py filter=odd=name\n")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "b")
    head = git(checkout, "rev-parse", "HEAD")
    git(checkout, "config", "filter.odd=name.clean", f"touch {checkout / 'ran'}; cat")
    git(checkout, "config", "filter.odd=name.required", "true")
    os.utime(checkout / "mine" / "gelu" / "eager.py", (1, 1))  # git must read it
    assert revision_labels(scan([checkout / "mine"])) == {"git_mine": head}
    assert not (checkout / "ran").exists()
    git(checkout, "status")
    assert (checkout / "ran").exists()


def test_a_folder_laid_out_as_gits_own_is_not_taken_for_it(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    git(checkout, "init", "-q", "--bare", "mine")
    git(checkout / "mine", "config", "core.bare", "false")
    git(checkout / "mine", "config", "core.worktree", str(checkout))
    assert revision_labels(scan([checkout / "mine"])) == {"git_mine": f"{head}-dirty"}


def test_a_linked_checkout_has_a_revision_too(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("linked") / "other"
    git(checkout, "worktree", "add", "-q", str(other))
    head = git(checkout, "rev-parse", "HEAD")
    assert revision_labels(scan([other / "mine"])) == {"git_mine": head}
    (checkout / ".git" / "config").chmod(0o666)
    assert revision_labels(scan([other / "mine"])) == {}


def test_without_git_there_are_no_labels(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = scan([checkout / "mine"])
    monkeypatch.setenv("PATH", str(checkout))
    assert revision_labels(catalog) == {}
