"""Reads what ``ncu --csv --page raw`` prints: a row a kernel, a column a metric, units in the second line."""

import csv
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.results.counters import MOST_KERNELS, MOST_STALLS, Counters, KernelCounters, Stall

SEPARATOR = "spin"  # torch.cuda._sleep's kernel stands before each point
DURATION = "gpu__time_duration.sum"
DRAM_READ, DRAM_WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"
TRAFFIC = (DURATION, DRAM_READ, DRAM_WRITE)
_L2_SECTORS, _L2_ALL, _L1 = "lts__t_sectors_srcunit_tex.sum", "lts__t_bytes.sum", "l1tex__t_bytes.sum"
_SECTOR_BYTES = 32
_OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
_OP = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_TYPES = {"f": "FP32", "d": "FP64", "h": "FP16"}
_FLOPS = {"add": 1, "mul": 1, "fma": 2}
_TENSOR = "sm__inst_executed_pipe_tensor"
_TENSOR_KINDS = ("_op_gmma", "_op_hmma", "_op_imma", "_op_dmma", "")
STALL, _STALL_END = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
_NO_WAITS = ("selected", "not_selected")  # the instruction is issued, or another warp's is
SECTIONS = ("WarpStateStats",)
DETAIL = (
    *TRAFFIC,
    *(_L2_SECTORS, _L2_ALL, _L1, _OCCUPANCY),
    *(_OP.format(letter + name) for letter in _TYPES for name in _FLOPS),
    *(f"{_TENSOR}{kind}.sum" for kind in _TENSOR_KINDS),
)
# What `--set full` has only as a rate, of all that a report is read for; known to every ncu, as below.
BEYOND_FULL = (_L1, *(_OP.format(letter + name) for letter in _TYPES for name in _FLOPS))
ESSENTIAL = (*TRAFFIC, _L2_ALL, _L1, _OCCUPANCY)  # known to every ncu since compute capability 7.0
UNITS = {
    "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12,
    "nsecond": 1e-9, "usecond": 1e-6, "msecond": 1e-3, "second": 1.0,
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0,
    "%": 0.01,
}  # fmt: skip
_LONGEST_NAME = 400  # of a kernel: templates of C++ have no end
Row = Mapping[str, str]


class Table(Struct, frozen=True):
    """The kernels that were observed, in order, and the unit of each column."""

    rows: tuple[Row, ...] = ()
    units: dict[str, str] = {}

    def figure(self, row: Row, name: str) -> float | None:
        """In SI base units, shares from 0 to 1; None where there is no number."""
        try:
            value = float((row.get(name) or "").replace(",", ""))
        except ValueError:  # n/a
            return None
        return value * UNITS.get(self.units.get(name, ""), 1.0)

    def groups(self) -> list["Table"]:
        """The kernels of each point: a separator goes before each."""
        found: list[list[Row]] = []
        for row in self.rows:
            if SEPARATOR in row.get("Kernel Name", ""):
                found.append([])
            elif found:
                found[-1].append(row)
        return [Table(tuple(rows), self.units) for rows in found]


def read_table(printed: str) -> Table:
    """Of what ncu printed; lines of its own and of the program that it observed are left out."""
    lines = [line for line in printed.splitlines() if line.startswith('"')]
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return Table()
    rows = list(csv.DictReader(lines[start:]))
    units = {name: unit or "" for name, unit in rows[0].items() if name} if rows else {}
    is_units = bool(rows) and not rows[0].get("ID")
    kernels = tuple(row for row in rows if (row.get("ID") or "").isdecimal())
    return Table(kernels, units if is_units else {})


def counters_of(instrument: str, traffic: Table, calls: int, detail: Table, problem: str = "") -> Counters:
    """``traffic``: of so many calls on rotated buffers, the caches left alone; ``detail``: of one call."""
    kernels = [_kernel(detail, row) for row in detail.rows]
    per_call = _by_launch(traffic, calls, [kernel.name for kernel in kernels])
    if per_call:
        kernels = [
            _with_traffic(kernel, read, write)
            for kernel, (read, write) in zip(kernels, per_call, strict=True)
        ]
    reads = _total(traffic, traffic.rows, DRAM_READ)
    writes = _total(traffic, traffic.rows, DRAM_WRITE)
    return Counters(
        instrument=instrument,
        calls=calls,
        kernel_count=len(kernels) or round(len(traffic.rows) / max(calls, 1)),
        duration_s=sum(kernel.duration_s for kernel in kernels),
        dram_read_bytes=None if reads is None or not calls else reads / calls,
        dram_write_bytes=None if writes is None or not calls else writes / calls,
        l2_bytes=_sum([kernel.l2_bytes for kernel in kernels]),
        l1_bytes=_sum([kernel.l1_bytes for kernel in kernels]),
        kernels=tuple(kernels[:MOST_KERNELS]),
        problem=problem,
    )


def _kernel(table: Table, row: Row) -> KernelCounters:
    def figure(name: str) -> float | None:
        return table.figure(row, name)

    flops = {
        name: sum(weight * (figure(_OP.format(letter + op)) or 0.0) for op, weight in _FLOPS.items())
        for letter, name in _TYPES.items()
    }
    tensor = {
        kind.removeprefix("_op_").upper() or "all": figure(f"{_TENSOR}{kind}.sum") or 0.0
        for kind in _TENSOR_KINDS
    }
    sectors = figure(_L2_SECTORS)
    return KernelCounters(
        name=row.get("Kernel Name", "")[:_LONGEST_NAME],
        duration_s=figure(DURATION) or 0.0,
        l2_bytes=figure(_L2_ALL) if sectors is None else sectors * _SECTOR_BYTES,
        l2_all_bytes=figure(_L2_ALL),
        l1_bytes=figure(_L1),
        flops={name: count for name, count in flops.items() if count},
        tensor_instructions={kind: count for kind, count in tensor.items() if count},
        occupancy=figure(_OCCUPANCY),
        stalls=_stalls(table, row),
        flushed_dram_bytes=_sum([figure(DRAM_READ), figure(DRAM_WRITE)]),
    )


def _stalls(table: Table, row: Row) -> tuple[Stall, ...]:
    found: list[Stall] = []
    for name in row:
        if name and name.startswith(STALL) and name.endswith(_STALL_END) and "not_issued" not in name:
            reason = name.removeprefix(STALL).removesuffix(_STALL_END)
            cycles = table.figure(row, name)
            if reason not in _NO_WAITS and cycles:
                found.append(Stall(reason, cycles))
    return tuple(sorted(found, key=lambda stall: -stall.cycles)[:MOST_STALLS])


def _by_launch(traffic: Table, calls: int, names: Sequence[str]) -> list[tuple[float, float]]:
    """Mean bytes read and written of each launch of a call; empty where the calls' kernels are not those."""
    count = len(names)
    if not calls or not count or len(traffic.rows) != calls * count:
        return []
    if any(
        row.get("Kernel Name", "")[:_LONGEST_NAME] != names[i % count] for i, row in enumerate(traffic.rows)
    ):
        return []
    found: list[tuple[float, float]] = []
    for place in range(count):
        rows = traffic.rows[place::count]
        read, write = _total(traffic, rows, DRAM_READ), _total(traffic, rows, DRAM_WRITE)
        if read is None or write is None:
            return []
        found.append((read / calls, write / calls))
    return found


def _with_traffic(kernel: KernelCounters, read: float, write: float) -> KernelCounters:
    return replace(kernel, dram_read_bytes=read, dram_write_bytes=write)


def _total(table: Table, rows: Iterable[Row], name: str) -> float | None:
    return _sum([table.figure(row, name) for row in rows])


def _sum(values: Sequence[float | None]) -> float | None:
    """None where one is not known, or there is none."""
    known = [value for value in values if value is not None]
    return sum(known) if values and len(known) == len(values) else None
