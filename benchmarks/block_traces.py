"""Traces a transformer block, forward and backward, eager and compiled, and reads what was written.

    python -P main.py -m roofscope.benchmarks.block_traces FOLDER [--device cuda] [--tokens 8192]

Three steps of torch.nn modules in bf16 (width 1024, 16 heads, AdamW), by torch.profiler with shapes, as a
user would record them: FOLDER/block-eager.json.gz and block-compiled.json.gz. Then, of each: the operators'
own and whole times beside torch's ``key_averages`` of the same recording, and whether the exported JSON loads
back equal. Ends with 0 only where both hold.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function

from roofscope.profiling.traces.averages import OperatorRow, operator_averages
from roofscope.profiling.traces.reading import open_trace

_WIDTH, _HEADS, _LENGTH = 1024, 16, 1024
_CLOCKS_APART = 0.02  # of a time: Kineto rounds each event to ns, key_averages sums microseconds


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)
        self.to_heads, self.from_heads = nn.Linear(_WIDTH, 3 * _WIDTH), nn.Linear(_WIDTH, _WIDTH)
        self.wider, self.narrower = nn.Linear(_WIDTH, 4 * _WIDTH), nn.Linear(4 * _WIDTH, _WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        heads = self.to_heads(self.norm1(x)).unflatten(-1, (3, _HEADS, -1)).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(*heads.unbind(0), is_causal=True)
        x = x + self.from_heads(seen.transpose(1, 2).flatten(2))
        return x + self.narrower(functional.gelu(self.wider(self.norm2(x))))


def traced(device: str, tokens: int, *, is_compiled: bool) -> profile:
    torch.manual_seed(0)
    block = Block().to(device, torch.bfloat16)
    called: Callable[[Tensor], Tensor] = torch.compile(block) if is_compiled else block
    optimizer = torch.optim.AdamW(block.parameters(), fused=device == "cuda")
    x = torch.randn(tokens // _LENGTH, _LENGTH, _WIDTH, device=device, dtype=torch.bfloat16)

    def step(number: int) -> None:
        with record_function(f"step {number}"):
            called(x).float().square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    for number in range(3):
        step(number)
    wait()
    with profile(activities=activities):
        step(0)
        wait()
    with profile(activities=activities, record_shapes=True) as recording:
        for number in range(3):
            step(number)
        wait()
    return recording


def differing(recording: profile, rows: dict[str, OperatorRow]) -> list[str]:
    """Operators that torch counts or times otherwise, each as a line."""
    found: list[str] = []
    averages: Any = recording.key_averages()
    for each in averages:
        row = rows.get(each.key)
        if not each.key.startswith("aten::") or row is None:
            continue
        theirs = (
            each.self_cpu_time_total,
            each.cpu_time_total,
            each.self_device_time_total,
            each.device_time_total,
        )
        ours = (row.host_self_s, row.host_total_s, row.device_self_s, row.device_total_s)
        apart = max(abs(mine * 1e6 - their) for mine, their in zip(ours, theirs, strict=True))
        if row.count != each.count or apart > _CLOCKS_APART * max(*theirs, 1.0) + 1e-2 * each.count:
            found.append(f"{each.key}: {each.count} calls, {theirs} us; here {row.count}, {ours} s")
    return found


def is_equal(path: Path) -> bool:
    """Whether what `trace export --json` writes loads back as what torch wrote."""
    written = open_trace(path).json_bytes()
    return json.loads(written) == json.loads(gzip.decompress(path.read_bytes()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tokens", type=int, default=8 * _LENGTH)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    is_right = True
    for name in ("eager", "compiled"):
        recording = traced(asked.device, asked.tokens, is_compiled=name == "compiled")
        path = asked.folder / f"block-{name}.json.gz"
        recording.export_chrome_trace(str(path))
        rows = {row.name: row for row in operator_averages(open_trace(path))}
        apart, is_same = differing(recording, rows), is_equal(path)
        operators = sum(name.startswith("aten::") for name in rows)
        print(f"{path.name}: {operators} operators, {len(apart)} unlike key_averages", end="; ")
        print(f"JSON loads back {'equal' if is_same else 'OTHERWISE'}", *apart[:5], sep="\n  ")
        is_right &= is_same and not apart
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
