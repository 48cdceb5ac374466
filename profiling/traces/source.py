"""The JSON text of a trace, wherever it lies: a file, packed as gzip or zip, or bytes of a session.

It is read piece by piece by plain reads, not by a memory map: mapped pages count as the program's memory,
and a file that shrinks while it is mapped ends the process with SIGBUS.
"""

import errno
import io
import tempfile
import threading
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.chrome_trace import TraceError

Progress = Callable[[float], None]  # 0 to 1; what it raises ends the reading

MOST_BYTES = 4 << 30  # of JSON text, packed or not: some 13 million events
_PIECE = 1 << 20  # bytes to unpack before progress is reported
_PACKED = 1 << 14  # bytes to unpack at once, some 200 KiB of text
# Deflate makes at most 1032 of 1. Traces are packed 8 to 40 times; what says one thing over again is refused
# once it has grown to a size that costs something.
_MOST_RATIO = 250
_FREE_OF_RATIO = 128 << 20
_GZIP = b"\x1f\x8b"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second one of an archive without a file
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # UTF-16, which some editors write, and UTF-32


class Source:
    """JSON text of known size. Reads from several threads come one after another."""

    def __init__(self, file: IO[bytes], size: int, *, is_cut: bool = False) -> None:
        self._file = file
        weakref.finalize(self, file.close).atexit = False
        self._lock = threading.Lock()
        self.size = size
        self.is_cut = is_cut  # the packed file ended, or was damaged, before its text did

    def read(self, offset: int, length: int) -> bytes:
        with self._lock:
            self._file.seek(offset)
            return self._file.read(max(0, min(length, self.size - offset)))

    def whole(self) -> bytes:
        return self.read(0, self.size)


def from_bytes(json_text: bytes) -> Source:
    return Source(io.BytesIO(json_text), len(json_text))


def from_file(path: Path, progress: Progress) -> Source:
    """Opens and, where it is packed, unpacks into a temporary file without a name. Raises TraceError."""
    try:
        if path.is_dir():
            raise TraceError(f"{path.name or path} is a folder; choose a trace in it.")
        if not path.is_file():
            raise TraceError(f"{path.name} is no file; choose a trace.")
        return _opened(path, progress)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            folder = tempfile.gettempdir()
            raise TraceError(
                f"{path.name} does not fit into {folder} when it is unpacked; make room there or set TMPDIR."
            ) from error
        reason = one_line(error.strerror or str(error))
        raise TraceError(f"{path.name} cannot be read ({reason}); check the path and its rights.") from error


def _opened(path: Path, progress: Progress) -> Source:
    file = path.open("rb")
    size = path.stat().st_size
    first = file.read(64)
    if first.startswith(_GZIP):
        with file:
            file.seek(0)
            return _unpacked(_members(file, path.name), size, path.name, progress)
    if first.startswith(_ZIP):
        with file:
            return _from_zip(file, size, path.name, progress)
    try:
        check_beginning(first, path.name)
        if size > MOST_BYTES:
            raise TraceError(f"{path.name} {_too_long()}")
    except TraceError:
        file.close()
        raise
    return Source(file, size)


def check_beginning(first: bytes, name: str) -> None:
    """Raises TraceError where these first bytes begin no JSON."""
    if not first:
        raise TraceError(f"{name} is empty; record the trace again.")
    if first.startswith(_WIDE):
        raise TraceError(f"{name} is text in UTF-16 or UTF-32; save it as UTF-8.")
    text = first.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if not text.strip(b"\x00"):
        held = "zeros" if b"\x00" in first else "blanks"
        raise TraceError(f"{name} begins with {held}, not with JSON; record the trace again.")
    if text[:1] not in (b"{", b"["):
        raise TraceError(f"{name} is no JSON; choose a trace as .json, .json.gz or .zip.")


def _too_long() -> str:
    return f"holds more than {MOST_BYTES >> 30} GiB of JSON text; record fewer steps."


def _members(file: IO[bytes], name: str) -> Iterator[bytes]:
    """What the members of a gzip file hold, in pieces of bounded size. Raises _DamagedError at the damage.

    zlib meets damage some bytes behind it, and unpacks nonsense until then: the piece in which it does, and
    the one before, are left out.
    """
    held = b""
    packed = file.read(_PACKED)
    while packed:
        member = zlib.decompressobj(wbits=31)
        while packed and not member.eof:
            try:
                piece = member.decompress(packed, _PIECE)
            except zlib.error as error:
                raise _DamagedError(one_line(str(error))) from error
            yield held
            held = piece
            packed = member.unconsumed_tail or (b"" if member.eof else file.read(_PACKED))
        if not member.eof:
            yield held
            raise _DamagedError("it ends early")
        packed = (member.unused_data or file.read(_PACKED)).lstrip(b"\x00")  # some tools fill up with zeros
    yield held


class _DamagedError(Exception):
    """The packed file ends or breaks before its text does."""


def _unpacked(pieces: Iterator[bytes], packed_size: int, name: str, progress: Progress) -> Source:
    target = tempfile.TemporaryFile()  # noqa: SIM115 -- lives as long as the trace
    size, is_cut = 0, False
    try:
        for piece in _damage_told(pieces):
            if piece is None:
                is_cut = True
                break
            if piece and not size:
                check_beginning(piece[:64], name)
            size += target.write(piece)
            if size > MOST_BYTES:
                raise TraceError(f"{name} {_too_long()}")
            if size > _FREE_OF_RATIO and size > packed_size * _MOST_RATIO:
                raise TraceError(
                    f"{name} unpacks to more than {_MOST_RATIO} times its size; record it again."
                )
            # The share of the packed file is not known here; a trace is packed some 12 times.
            progress(min(1.0, size / (12 * packed_size + 1)))
        if not size:
            fault = "is damaged, and nothing sound can be unpacked" if is_cut else "is empty"
            raise TraceError(f"{name} {fault}; record the trace again.")
    except BaseException:
        target.close()
        raise
    return Source(target, size, is_cut=is_cut)


def _damage_told(pieces: Iterator[bytes]) -> Iterator[bytes | None]:
    """The same pieces, and None at the end where the file was damaged."""
    try:
        yield from pieces
    except _DamagedError:
        yield None


def _from_zip(file: IO[bytes], packed_size: int, name: str, progress: Progress) -> Source:
    try:
        with zipfile.ZipFile(file) as archive:
            chosen = _chosen(archive, name)
            with archive.open(chosen) as member:
                if chosen.filename.lower().endswith(".gz"):
                    return _unpacked(_members(member, name), packed_size, name, progress)
                return _unpacked(_zip_pieces(member), packed_size, name, progress)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, EOFError) as error:
        # RuntimeError: encrypted. NotImplementedError: a packing that this Python lacks.
        raise TraceError(
            f"{name} cannot be unpacked ({one_line(str(error))[:120]}); unpack it and open the .json."
        ) from error


def _chosen(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    files = [each for each in archive.infolist() if not each.is_dir()]
    found = [each for each in files if each.filename.lower().endswith((".json", ".json.gz"))]
    found = found or files
    if len(found) == 1:
        return found[0]
    held = f"{len(found)} traces" if found else "no file"
    raise TraceError(f"{name} holds {held}; unpack it and open the trace that you want.")


def _zip_pieces(member: IO[bytes]) -> Iterator[bytes]:
    try:
        while piece := member.read(_PIECE):
            yield piece
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _DamagedError(one_line(str(error))) from error
