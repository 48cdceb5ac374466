"""The guard under which every test runs notes what leaves this machine, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_STOP = """
def stop(name, _):
    if name.startswith("socket.") and name != "socket.__new__":
        raise OSError(name)
sys.addaudithook(stop)
"""


@pytest.mark.parametrize(
    ("code", "is_noted"),
    [
        ("socket.socket().connect(('192.0.2.1', 9))", True),
        ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))", True),
        ("socket.socket().bind(('127.0.0.1', 0))", True),
        ("socket.getaddrinfo('a.invalid', 80)", True),
        ("def _has_ipv6(): socket.socket().bind(('127.0.0.1', 0))\n_has_ipv6()", False),
        ("socket.socket().connect(('127.0.0.1', 9))", False),
        ("socket.socket(socket.AF_UNIX).connect('/none')", False),
        ("socket.socketpair()", False),
    ],
)
def test_the_guard_notes_what_leaves_this_machine_or_listens(
    tmp_path: Path, code: str, is_noted: bool
) -> None:
    log = tmp_path / "log"
    # A hook behind the guard's ends the call before anything is sent.
    setup = f"import socket, sys\n{_STOP if is_noted else ''}"
    subprocess.run(
        [sys.executable, "-c", f"{setup}\n{code}"],
        env={**os.environ, "ROOFSCOPE_NETWORK_LOG": str(log)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert log.exists() == is_noted
