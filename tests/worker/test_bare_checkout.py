"""A checkout that nobody installed, in a folder with a space in its name, beside another package `profiling`.

Python 3.15 has one (PEP 799). Here an invented one, first on the path, stands for it.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.supervision.protocol import (
    PROTOCOL_VERSION,
    Close,
    Hello,
    Open,
    encode,
    event_decoder,
)
from roofscope.tests.children import ROOT

PROBE = """
import profiling.sampling, profiling.tracing
import roofscope
from roofscope.profiling import paths
print(profiling.__file__, roofscope.__file__, paths.__file__, paths.LIBRARY, sep="\\n")
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what runs, with one module more, which says what it imports."""
    folder = tmp_path_factory.mktemp("home") / "my kernels, new"
    for name in ("app", "kernels", "profiling"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "main.py"):
        shutil.copy(ROOT / name, folder)
    (folder / "probe.py").write_text(PROBE)
    return folder


@pytest.fixture(scope="module")
def decoy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds another `profiling`."""
    package = tmp_path_factory.mktemp("decoy") / "profiling"
    package.mkdir()
    for name in ("__init__.py", "tracing.py", "sampling.py"):
        (package / name).touch()
    return package


def start(checkout: Path, decoy: Path, *words: str) -> subprocess.Popen[bytes]:
    """Starts its main.py. -S: an installation in this environment is not seen, only what lies beside it."""
    path = os.pathsep.join((str(decoy.parent), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-S", *words],
        cwd=checkout.parent,
        env={**os.environ, "PYTHONPATH": path},
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    )


def run(checkout: Path, decoy: Path, *words: str) -> tuple[int, str, str]:
    """The exit code, and what was written on either stream."""
    with start(checkout, decoy, *words) as process:
        written, complaints = process.communicate()
    return process.returncode, written.decode(), complaints.decode()


@pytest.mark.parametrize("options", [(), ("-P",)], ids=["as a user", "as the worker"])
def test_each_finds_its_own_package(checkout: Path, decoy: Path, options: tuple[str, ...]) -> None:
    code, found, complaints = run(
        checkout, decoy, *options, str(checkout / "main.py"), "-m", "roofscope.probe"
    )
    assert (code, complaints) == (0, "")
    assert found.splitlines() == [
        str(decoy / "__init__.py"),
        str(checkout / "__init__.py"),
        str(checkout / "profiling" / "paths.py"),
        str(checkout / "kernels"),
    ]


def test_the_command_line_works(checkout: Path, decoy: Path) -> None:
    code, help_text, complaints = run(checkout, decoy, f"{checkout.name}/main.py", "--help")
    assert (code, complaints) == (0, "")
    assert "selftest" in help_text
    code, _, complaints = run(checkout, decoy, f"{checkout.name}/main.py", "run", "sofmax")
    assert code == 2
    assert "did you mean 'softmax'?" in complaints


def test_the_worker_works(checkout: Path, decoy: Path) -> None:
    command = ("-P", str(checkout / "main.py"), "-m", "roofscope.profiling.worker")
    with start(checkout, decoy, *command) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(encode(Open(PROTOCOL_VERSION)))
        worker.stdin.flush()
        said = worker.stdout.readline()
        _, complaints = worker.communicate(encode(Close()))
    assert said, complaints
    [hello] = event_decoder("").feed(said)
    assert isinstance(hello, Hello)
    assert hello.catalog_hash == scan([checkout / "kernels"]).hash
