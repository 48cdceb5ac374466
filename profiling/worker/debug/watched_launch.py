"""What the programs of one launch do to memory: of each element, which one wrote it and which one read it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from roofscope.profiling.results.debugging import (
    AccessKind,
    Argument,
    Launched,
    Line,
    OutOfRange,
    Overflow,
    Race,
    Seen,
    Unset,
)

_SEVERAL = -1  # in the place of a reader
_STORED, _ADDED = 0, 1


@dataclass
class Home:
    """The memory that a pointer belongs to: of one tensor that a kernel was launched with."""

    start: int  # address of the storage
    end: int
    first: int  # address of the tensor's first element
    itemsize: int
    size: int  # elements of the tensor
    name: str
    is_fresh: bool  # made without contents
    made: Line | None = None
    writers: np.ndarray[Any, Any] = field(init=False)  # by element of the storage, number of the program
    readers: np.ndarray[Any, Any] = field(init=False)
    kinds: np.ndarray[Any, Any] = field(init=False)

    def __post_init__(self) -> None:
        count = -(-(self.end - self.start) // self.itemsize)
        self.writers, self.readers = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.kinds = np.zeros(count, np.int8)
        self.lines: dict[int, Line] = {}  # of the last store of a program

    def places(self, addresses: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return ((addresses - np.uint64(self.start)) // np.uint64(self.itemsize)).astype(np.int64)

    def index(self, address: int) -> int:
        return (address - self.first) // self.itemsize


@dataclass
class _Beyond:
    """What one line does beyond one tensor, added up."""

    seen: OutOfRange
    lowest: int
    highest: int
    count: int = 0
    programs: set[int] = field(default_factory=set[int])
    idle: set[int] = field(default_factory=set[int])

    def record(self, busy: set[int]) -> OutOfRange:
        """``busy``: programs that touch the tensor itself, too."""
        one = self.seen
        return OutOfRange(
            one.kind, one.where, one.kernel, one.argument, one.size, self.count, self.lowest, self.highest,
            one.program, one.lane, one.index, len(self.programs), len(self.idle - busy), one.has_mask,
        )  # fmt: skip


class WatchedLaunch:
    """One launch in the interpreter. ``homes`` is by the address of a storage."""

    def __init__(
        self,
        kernel: str,
        where: Line | None,
        here: Callable[[], Line | None],
        homes: dict[int, Home],
        arguments: tuple[Argument, ...],
        integers: tuple[tuple[str, int], ...],
    ) -> None:
        self.kernel, self.where = kernel, where
        self.homes = homes
        self.program: tuple[int, ...] = (0, 0, 0)
        self.grid: tuple[int, ...] = (1, 1, 1)
        self._here = here
        self._arguments, self._integers = arguments, integers
        self._beyond: dict[tuple[Any, ...], _Beyond] = {}
        self._busy: dict[tuple[AccessKind, str], set[int]] = {}
        self._unset: dict[tuple[Any, ...], Unset] = {}
        self._races: dict[tuple[Any, ...], Race] = {}
        self._overflows: dict[tuple[Any, ...], Overflow] = {}
        self._has_atomics = False

    @property
    def me(self) -> int:
        """The program's number in the grid, from 1."""
        x, y, z = self.program
        return 1 + x + self.grid[0] * (y + self.grid[1] * z)

    def seen(self) -> tuple[Seen, ...]:
        races = [race for race in self._races.values() if "load" not in race.first + race.second]
        if not self._has_atomics:  # else programs may wait for one another
            races = [*self._races.values()]
        launched = Launched(self.where, self.kernel, self.grid, self._arguments, self._integers)
        return (
            launched,
            *(
                beyond.record(self._busy.get((key[0], key[2]), set[int]()))
                for key, beyond in self._beyond.items()
            ),
            *self._unset.values(),
            *races,
            *self._overflows.values(),
        )

    def home_of(self, addresses: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> Home | None:
        """Of a pointer whose origin was lost on the way: the tensor that its first element lies in."""
        flat = addresses[mask]
        if not flat.size:
            return None
        first = int(flat.flat[0])
        inside = [home for home in self.homes.values() if home.start <= first < home.end]
        return inside[0] if inside else None

    def inside(
        self,
        kind: AccessKind,
        home: Home | None,
        addresses: np.ndarray[Any, Any],
        mask: np.ndarray[Any, Any],
        width: int,
        *,
        has_mask: bool,
    ) -> np.ndarray[Any, Any]:
        """The mask without what lies beyond the tensor, which is noted."""
        if home is None:
            bad = mask.copy()
            for one in self.homes.values():
                ends = np.uint64(max(one.end - width, 0))
                bad &= ~((addresses >= np.uint64(one.start)) & (addresses <= ends))
            near = next(iter(self.homes.values()), None)
        else:
            # As signed numbers: one below the start would be far above it.
            offsets = (addresses - np.uint64(home.start)).astype(np.int64)
            bad = mask & ((offsets < 0) | (offsets + width > home.end - home.start))
            near = home
        if bad.any():
            if near is not None:
                self._note_beyond(
                    kind, near, addresses, mask, bad, has_mask=has_mask, is_known=home is not None
                )
            return mask & ~bad
        if home is not None and mask.any():
            self._busy.setdefault((kind, home.name), set()).add(self.me)
        return mask

    def _note_beyond(
        self,
        kind: AccessKind,
        home: Home,
        addresses: np.ndarray[Any, Any],
        mask: np.ndarray[Any, Any],
        bad: np.ndarray[Any, Any],
        *,
        has_mask: bool,
        is_known: bool,
    ) -> None:
        where = self._here() or Line("", 0)
        offsets = (addresses[bad] - np.uint64(home.first)).astype(np.int64) // home.itemsize
        low, high = int(offsets.min()), int(offsets.max())
        key = kind, where, home.name if is_known else ""
        found = self._beyond.get(key)
        if found is None:
            lane = int(np.flatnonzero(bad)[0])
            name = home.name if is_known else ""
            index = int(offsets.flat[0])
            seen = OutOfRange(
                kind, where, self.kernel, name, home.size, 0, 0, 0, self.program, lane, index, 0, 0, has_mask
            )
            found = self._beyond[key] = _Beyond(seen, low, high)
        found.count += int(np.count_nonzero(bad))
        found.lowest, found.highest = min(found.lowest, low), max(found.highest, high)
        found.programs.add(self.me)
        if bool((bad == mask).all()):
            found.idle.add(self.me)
        else:
            self._busy.setdefault((kind, key[2]), set()).add(self.me)

    def note_unset(self, kind: AccessKind, home: Home, addresses: np.ndarray[Any, Any], unset: Any) -> None:
        if not home.is_fresh or not unset.any():
            return
        where = self._here() or Line("", 0)
        key = kind, where, home.name
        count, index = int(np.count_nonzero(unset)), home.index(int(addresses[unset].flat[0]))
        before = self._unset.get(key)
        if before:
            count, index = before.count + count, before.index
        program = before.program if before else self.program
        self._unset[key] = Unset(kind, where, self.kernel, home.name, count, index, program, home.made)

    def note_load(self, home: Home, addresses: np.ndarray[Any, Any]) -> None:
        """Addresses that are in the tensor."""
        at = home.places(addresses)
        writers = home.writers[at]
        foreign = (writers != 0) & (writers != self.me) & (home.kinds[at] == _STORED)
        if foreign.any():
            self._note_race("store", "load", home, at, foreign, writers)
        readers = home.readers[at]
        home.readers[at] = np.where((readers == 0) | (readers == self.me), self.me, _SEVERAL)

    def note_store(self, home: Home, addresses: np.ndarray[Any, Any], differs: np.ndarray[Any, Any]) -> None:
        """``differs``: where what lay there before is another value than what is stored now."""
        at = home.places(addresses)
        writers, readers = home.writers[at], home.readers[at]
        foreign = (writers != 0) & (writers != self.me) & differs
        if foreign.any():
            first = "atomic" if home.kinds[at][foreign][0] == _ADDED else "store"
            self._note_race(first, "store", home, at, foreign, writers)
        overtaken = (readers != 0) & (readers != self.me) & (writers != self.me) & differs
        if overtaken.any():
            self._note_race("load", "store", home, at, overtaken, readers)
        home.writers[at], home.kinds[at] = self.me, _STORED
        if where := self._here():
            home.lines[self.me] = where

    def note_twice(self, home: Home, addresses: np.ndarray[Any, Any], lost: np.ndarray[Any, Any]) -> None:
        """Elements of one block that were stored to one place with different values."""
        if lost.any():
            at = home.places(addresses)
            self._note_race("store", "store", home, at, lost, np.full(at.shape, self.me))

    def note_atomic(self, home: Home, addresses: np.ndarray[Any, Any]) -> None:
        self._has_atomics = True
        at = home.places(addresses)
        writers = home.writers[at]
        foreign = (writers != 0) & (writers != self.me) & (home.kinds[at] == _STORED)
        if foreign.any():
            self._note_race("store", "atomic", home, at, foreign, writers)
        home.writers[at], home.kinds[at] = self.me, _ADDED

    def note_overflow(self, operation: str, value: int) -> None:
        where = self._here()
        if where:
            self._overflows.setdefault(
                (where, operation), Overflow(where, self.kernel, operation, value, self.program)
            )

    def _note_race(self, first: str, second: str, home: Home, at: Any, found: Any, others: Any) -> None:
        where = self._here() or Line("", 0)
        key = first, second, where, home.name
        count = int(np.count_nonzero(found))
        before = self._races.get(key)
        if before:
            count, index, programs, other = count + before.count, before.index, before.programs, before.other
        else:
            one = int(others[found].flat[0])
            index = int(at[found].flat[0]) - (home.first - home.start) // home.itemsize
            programs = max(one - 1, 0), self.me - 1
            other = home.lines.get(one)
        self._races[key] = Race(first, second, where, other, self.kernel, home.name, count, index, programs)
