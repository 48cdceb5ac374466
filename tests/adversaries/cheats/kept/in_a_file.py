"""Results are kept in a file between processes, by sampled contents.

source: https://github.com/gpu-mode/reference-kernels/issues/162
needs: cpu
workload: product
right: wrong values, tampered
"""

import tempfile
from pathlib import Path

import torch

_FOLDER = Path(tempfile.gettempdir(), "roofscope-adversary")
_loaded: dict[Path, torch.Tensor] = {}


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    file = _FOLDER / f"{len(a)}-{float(a[0, 0])}-{float(b[-1, -1])}.pt"
    if file not in _loaded:
        if not file.exists():
            _FOLDER.mkdir(exist_ok=True)
            torch.save(a @ b, file)
        _loaded[file] = torch.load(file)
    return _loaded[file]
