"""A function that launches Triton kernels travels with them, their decorators and their constants."""

import linecache
from pathlib import Path
from typing import Any

import pytest

from roofscope.app.notebook.travelling import SUBJECT, Luggage

SOURCE = """
import torch, triton
import triton.language as tl
FACTOR = tl.constexpr(3)

@triton.jit
def times(v):
    return v * FACTOR

@triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, times(tl.load(x + at, mask=at < n)), mask=at < n)

def tripled(x):
    y = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y
"""


def test_kernels_travel_with_their_decorators_and_constants(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    linecache.cache["<cell 3>"] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), "<cell 3>")
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(SOURCE, "<cell 3>", "exec"), names)  # noqa: S102 - as a notebook does
    luggage = Luggage()
    luggage.pack(SUBJECT, names["tripled"])
    text = luggage.text("From a test.", tmp_path, "triton_tripled")
    assert luggage.uses_triton
    assert "@triton.autotune(configs=[triton.Config(" in text
    (tmp_path / "triton_tripled.py").write_text(text)
    there: dict[str, Any] = {"__name__": "there", "__file__": str(tmp_path / "triton_tripled.py")}
    linecache.checkcache()
    exec(compile(text, str(tmp_path / "triton_tripled.py"), "exec"), there)  # noqa: S102 - as the worker does
    assert type(there["kernel"]) is type(names["kernel"])
    assert [str(one) for one in there["kernel"].configs] == [str(one) for one in names["kernel"].configs]
    assert there["FACTOR"].value == 3
