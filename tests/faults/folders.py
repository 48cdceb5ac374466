"""Folders of kernels that are broken in a way that no Python file can be: links, pipes, names, bytes."""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from roofscope.tests.faults.corpus import LEFT_OUT, MEASURED, Fault

_GROUP = "folder"
_BUILD = ("build error",)


def _editor_lock(folder: Path) -> None:
    for name in (".#eager.py", ".#spec.py", ".#reference.py"):
        (folder / name).symlink_to("user@host.1234:1700000000")


def _swap_files(folder: Path) -> None:
    for name in (".eager.py.swp", "eager.py~", "#eager.py#", "._eager.py", ".DS_Store", "eager.py.orig"):
        (folder / name).write_bytes(b"\0\1\2\xff" * 100)


def _folder_as(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return make


def _fifo_as(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return make


def _link_as(name: str, target: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return make


def _bytes_as(name: str, content: bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return make


def _without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def _unreadable(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).chmod(0)


def _socket(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)  # the name of a socket may have 100 characters
    try:
        socket.socket(socket.AF_UNIX).bind("triton_socket.py")
    finally:
        os.chdir(here)


def _odd_names(folder: Path) -> None:
    for name in (b"\xff\xfe.py", b"triton_\xff.py", b"new\nline.py", b"\x1b[31mred.py", b"<script>.py"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(b"def run(x): ...\n")
    (folder / ("triton_" + "x" * 240 + ".py")).write_text("def run(x): ...\n")


def _many_files(folder: Path) -> None:
    for number in range(3000):
        (folder / f"helper_{number}.py").write_text("VALUE = 1\n")


def _link_circle(folder: Path) -> None:
    (folder / "one.py").symlink_to("two.py")
    (folder / "two.py").symlink_to("one.py")
    (folder / "again").symlink_to(".")


def _name_of_ours(folder: Path) -> None:
    """A kernel named like one of the library lies beside it."""
    ours = folder.parent / "gelu"
    shutil.copytree(folder, ours)


def _spec_with(old: str, new: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        path = folder / "spec.py"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return make


def _broken(
    name: str, title: str, make: Callable[[Path], None], *right: str, says: tuple[str, ...] = ()
) -> Fault:
    return Fault(f"folder_{name}", title, _GROUP, right or (MEASURED,), says, make=make)


def _left_out(name: str, title: str, make: Callable[[Path], None]) -> Fault:
    return Fault(f"folder_{name}", title, _GROUP, (LEFT_OUT,), (f"folder_{name}",), make=make)


def _unreadable_fault() -> Fault:
    """Root may read it all the same."""
    right = MEASURED if os.geteuid() == 0 else LEFT_OUT
    return _broken("unreadable", "eager.py may not be read.", _unreadable("eager.py"), right, says=("eager",))


_TOLERANCE = "tolerance=Tolerance(float32=1e-6,"
_WORK = 'flop_count="n"'
_MAGNITUDE = "large_magnitude=100.0"

FAULTS = (
    _broken("editor_lock", "An editor's lock files lie in it: links to nothing.", _editor_lock),
    _broken("swap_files", "Backups and swap files of editors lie in it.", _swap_files),
    _left_out("eager_is_a_folder", "eager.py is a folder.", _folder_as("eager.py")),
    _left_out("reference_is_a_folder", "reference.py is a folder.", _folder_as("reference.py")),
    _left_out("spec_is_a_folder", "spec.py is a folder.", _folder_as("spec.py")),
    _broken("helper_is_a_folder", "A helper, util.py, is a folder.", _folder_as("util.py")),
    _broken("helper_is_a_fifo", "A helper, util.py, is a FIFO that nobody writes to.", _fifo_as("util.py")),
    _left_out("eager_is_a_fifo", "eager.py is a FIFO.", _fifo_as("eager.py")),
    _left_out("reference_is_a_fifo", "reference.py is a FIFO.", _fifo_as("reference.py")),
    _left_out("spec_is_a_fifo", "spec.py is a FIFO.", _fifo_as("spec.py")),
    _broken("helper_is_endless", "A helper is a link to /dev/zero.", _link_as("util.py", "/dev/zero")),
    _left_out("spec_is_endless", "spec.py is a link to /dev/zero.", _link_as("spec.py", "/dev/zero")),
    _left_out("spec_is_lost", "spec.py is a link to nothing.", _link_as("spec.py", "nowhere.py")),
    _left_out("eager_is_lost", "eager.py is a link to nothing.", _link_as("eager.py", "nowhere.py")),
    _left_out("no_reference", "There is no reference.py.", _without("reference.py")),
    _broken("link_circle", "Links in it go in circles.", _link_circle),
    _broken("socket", "A socket lies in it under the name of a kernel's file.", _socket, MEASURED),
    _broken("odd_names", "Names that are no UTF-8, with a newline, an escape and a tag.", _odd_names),
    _broken("many_files", "Three thousand helpers lie in it.", _many_files),
    _broken("name_of_ours", "A kernel beside it is called as one of ours.", _name_of_ours, says=("gelu",)),
    _unreadable_fault(),
    _broken("no_python", "eager.py is no Python.", _bytes_as("eager.py", b"def run(x)\n    return"), *_BUILD),
    _broken("nul_bytes", "eager.py has NUL bytes.", _bytes_as("eager.py", b"def run(x):\0\n"), *_BUILD),
    _broken("no_utf8", "eager.py is not UTF-8.", _bytes_as("eager.py", b"x = '\xff'"), *_BUILD),
    _broken("empty", "eager.py is empty.", _bytes_as("eager.py", b""), *_BUILD),
    _broken("deep_python", "eager.py is nested 5,000 deep.",
            _bytes_as("eager.py", b"x = " + b"(" * 5000 + b")" * 5000), *_BUILD),
    _broken("reference_no_python", "reference.py is no Python.",
            _bytes_as("reference.py", b"def run(x)\n"), *_BUILD),
    _left_out("spec_no_python", "spec.py is no Python.", _bytes_as("spec.py", b"SPEC = (\n")),
    _left_out("spec_no_utf8", "spec.py is not UTF-8.", _bytes_as("spec.py", b"\xff\xfe\0")),
    _left_out("spec_infinite", "A tolerance is infinite.",
              _spec_with(_TOLERANCE, 'tolerance=Tolerance(float32=float("inf"),')),
    _left_out("spec_nan", "The large magnitude is not a number.",
              _spec_with(_MAGNITUDE, 'large_magnitude=float("nan")')),
    _left_out("spec_half_work", "The work is no integer.", _spec_with(_WORK, 'flop_count="2**(0-1)"')),
    _left_out("spec_long_formula", "The work's formula has 30,000 terms.",
              _spec_with(_WORK, 'flop_count="+".join(["n"] * 30_000)')),
    _left_out("spec_great_formula", "The work's formula has ten billion digits.",
              _spec_with(_WORK, 'flop_count="10**10**10"')),
    _left_out("spec_other_name", "The spec's name is another one.",
              _spec_with("name=Path(__file__).parent.name", 'name="other"')),
    _left_out("spec_not_ours", "SPEC is a class that answers everything.",
              _bytes_as("spec.py", b"class Any:\n    def __getattr__(self, _): return self\nSPEC = Any()\n")),
)  # fmt: skip
