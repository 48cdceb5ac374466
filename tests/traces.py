"""Traces as Kineto writes them, of any length, by a seed: for tests of the reader and for its benchmark."""

import random
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

PID, FORWARD, BACKWARD = 502, 502, 532
STREAMS = (7, 20)
ORIGIN_US = 4_635_829_450_000.0

_HEADER = """
  {
    "schemaVersion": 1,
    "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320,
      "computeMajor": 9, "computeMinor": 0, "numSms": 132
    }
    ],
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": ["""
_TAIL = '\n  ],\n  "traceName": "/tmp/made.json"\n}'
_DIMENSIONS = (
    "[[8192, 1024], [1024, 4096], [4096]]",
    "[[8, 16, 1024, 64], [], []]",
    "[[8, 1024, 1024], [8, 1024, 1024], []]",
)
_OPERATORS = (
    "addmm",
    "mul",
    "native_layer_norm",
    "gelu",
    "add_",
    "copy_",
    "_to_copy",
    "softmax",
    "cat",
    "sum",
)
_ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::{0}Functor<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::{0}Functor<c10::BFloat16>, std::array<char*, 3ul>)"
)


class Planted(Struct, frozen=True):
    """What is wrong in a trace on purpose."""

    quotes: int = 0  # operators whose names have quotes that are not escaped; each names two events
    controls: int = 0  # operators whose names have control characters
    is_cut: bool = False  # the file ends in the middle of its last event


class Made(Struct, frozen=True):
    """What a made trace holds, for what reads it."""

    events: int
    kernels: int
    slices: int


def write_trace(path: Path, count: int, seed: int = 1, planted: Planted | None = None) -> Made:
    """Writes ``count`` events, metadata among them."""
    planted = planted or Planted()
    metadata = list(_metadata())
    maker = _Maker(random.Random(seed), count - len(metadata), planted)
    with path.open("w", encoding="utf-8") as file:
        file.write(_HEADER)
        for event in maker.events():
            file.write(event)
            file.write(",")
        file.write(",".join(metadata))
        file.write(_TAIL)
    if planted.is_cut:
        with path.open("r+b") as cut:
            cut.truncate(path.stat().st_size - len(_TAIL) - 30)
    return Made(count, maker.kernels, maker.slices)


def _event(head: str, *arguments: str) -> str:
    said = f',\n    "args": {{\n      {", ".join(arguments)}\n    }}' if arguments else ""
    return f"\n  {{\n    {head}{said}\n  }}"


class _Maker:
    """One operator after the other, each with what Kineto writes of it, and each on its thread and stream."""

    def __init__(self, chance: random.Random, count: int, planted: Planted) -> None:
        self._chance, self._count = chance, count
        self._names = _kernel_names(chance)
        self._quotes, self._controls = self._places(planted.quotes), self._places(planted.controls)
        self.kernels = 0
        self.slices = 0
        self._time = {FORWARD: ORIGIN_US, BACKWARD: ORIGIN_US}
        self._free = dict.fromkeys(STREAMS, ORIGIN_US)
        self._allocated = 1 << 30

    def _places(self, planted: int) -> frozenset[int]:
        """Which operators get a broken name; an operator has eight events or nine."""
        return frozenset(self._chance.sample(range(1, max(planted, self._count // 12) + 1), planted))

    def events(self) -> Iterator[str]:
        made = number = 0
        while made < self._count:
            number += 1
            for event in (*self._on_host(number), *self._on_device(number), *self._beside(number)):
                if made == self._count:
                    return
                made += 1
                self.slices += '"ph": "X"' in event[:20]
                self.kernels += '"cat": "kernel"' in event[:40]
                yield event

    def _name(self, number: int) -> str:
        quotes = ' "as", "said" of' if number in self._quotes else ""
        controls = "\x01\n" if number in self._controls else ""
        return f"{self._chance.choice(_OPERATORS)}{quotes}{controls}"

    def _on_host(self, number: int) -> Iterator[str]:
        """A module's call, the operator in it, the one in that, and the launch."""
        chance = self._chance
        tid = self._tid = FORWARD if number % 2 else BACKWARD
        self._thread = f'"pid": {PID}, "tid": {tid}'
        begin, wide = self._time[tid], chance.uniform(20.0, 80.0)
        self._time[tid] = begin + wide + chance.uniform(0.1, 3.0)
        self._operator_us, self._launch_us = begin + wide * 0.05, begin + wide * 0.5
        module = f"torch/nn/modules/module_{number % 300}.py({number % 997}): forward"
        yield _event(
            f'"ph": "X", "cat": "python_function", "name": "{module}", {self._thread},\n'
            f'    "ts": {begin:.3f}, "dur": {wide:.3f}',
            f'"Python parent id": null, "Python id": {number}, "Ev Idx": {number}',
        )
        name, dims = self._name(number), chance.choice(_DIMENSIONS)
        for inner, share in (("", 0.05), ("_out", 0.1)):
            yield _event(
                f'"ph": "X", "cat": "cpu_op", "name": "aten::{name}{inner}", {self._thread},\n'
                f'    "ts": {begin + wide * share:.3f}, "dur": {wide * (0.9 - share):.3f}',
                f'"External id": {number},"Record function id": 0',
                '"Concrete Inputs": ["", "[8, 1024, 1024]", "False"]',
                '"Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"]',
                f'"Input Strides": [[1024, 1], [1, 1024], []], "Input Dims": {dims}, "Ev Idx": {number}',
            )
        yield _event(
            f'"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", {self._thread},\n'
            f'    "ts": {self._launch_us:.3f}, "dur": {wide * 0.2:.3f}',
            f'"External id": {number}, "cbid": 211, "correlation": {number}',
        )
        yield _event(
            f'"ph": "s", "id": {number}, {self._thread}, "ts": {self._launch_us:.3f},\n'
            '    "cat": "ac2g", "name": "ac2g"'
        )

    def _on_device(self, number: int) -> Iterator[str]:
        chance = self._chance
        stream = STREAMS[number % 5 == 0]
        begin = max(self._free[stream], self._launch_us + 3.0 + chance.random())
        name, long = chance.choice(self._names), chance.uniform(1.0, 60.0)
        self._free[stream] = begin + long + 0.2
        yield _event(
            f'"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": {stream},\n'
            f'    "ts": {begin:.3f}, "dur": {long:.3f}',
            f'"External id": {number},      "queued": 0, "device": 0, "context": 1,      "stream": {stream}',
            f'"correlation": {number},      "registers per thread": {chance.choice((32, 64, 128))}',
            '     "shared memory": 0,      "blocks per SM": 62.060608,      "warps per SM": 248.242432',
            f'     "grid": [{chance.randrange(1, 9000)}, 1, 1]',
            f'     "block": [{chance.choice((128, 256))}, 1, 1]',
            f'     "est. achieved occupancy %": {chance.randrange(101)}',
        )
        yield _event(
            f'"ph": "f", "id": {number}, "pid": 0, "tid": {stream}, "ts": {begin:.3f},\n'
            '    "cat": "ac2g", "name": "ac2g", "bp": "e"'
        )

    def _beside(self, number: int) -> Iterator[str]:
        """What the allocator gave, and the arrow from an operator to its gradient on the other thread."""
        if number % 4 == 0:
            change = self._chance.choice((-33554432, 33554432, 512))
            self._allocated += change
            yield _event(
                '"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",\n'
                f'    {self._thread},\n    "ts": {self._operator_us + 1:.3f}',
                f'"Total Reserved": 815792128, "Total Allocated": {self._allocated}, "Bytes": {change}',
                f'"Device Id": 0, "Device Type": 1, "Addr": 140021759737856, "Ev Idx": {number}',
            )
        if number % 6 in (1, 2):
            begins = number % 6 == 1
            binds = "" if begins else ', "bp": "e"'
            yield _event(
                f'"ph": "{"s" if begins else "f"}", "id": {number - (not begins)}, {self._thread},\n'
                f'    "ts": {self._operator_us:.3f}, "cat": "fwdbwd", "name": "fwdbwd"{binds}'
            )


def _kernel_names(chance: random.Random) -> list[str]:
    plain = [_ELEMENTWISE.format(f"Fused{at}") for at in range(150)]
    tiles = [f"nvjet_sm90_tst_{64 * at}x128_64x4_1x2_h_bz_coopA_bias_TNT" for at in range(1, 150)]
    fused = [f"triton_poi_fused_{chance.choice(_OPERATORS)}_{at}" for at in range(200)]
    return [*plain, *tiles, *fused]


def _metadata() -> Iterator[str]:
    said = [
        (PID, 0, "process_name", '"name": "python3"'),
        (PID, 0, "process_sort_index", f'"sort_index": {PID}'),
    ]
    said += [(0, 0, "process_name", '"name": "python3"'), (0, 0, "process_labels", '"labels": "GPU 0"')]
    said += [(0, 0, "process_sort_index", '"sort_index": 5000000')]
    said += [(0, stream, "thread_name", f'"name": "stream {stream} "') for stream in STREAMS]
    said += [(PID, tid, "thread_name", f'"name": "thread {tid} (python3)"') for tid in (FORWARD, BACKWARD)]
    for pid, tid, what, argument in said:
        head = f'"name": "{what}", "ph": "M", "ts": {ORIGIN_US:.3f}, "pid": {pid}, "tid": {tid}'
        yield _event(head, argument)
