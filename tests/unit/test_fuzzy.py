"""What a few letters find."""

import pytest

from roofscope.app.presentation.fuzzy import best, match

NAMES = (
    *("File: Open session", "File: Open example", "File: Save", "File: Save as", "Run: Run", "Run: Stop"),
    *("Run: Record trace", "View: Reset layout", "softmax / Triton online, bf16 32Ki × 4Ki"),
    *("softmax / CUDA warp, fp32 4Ki × 1Ki", "matmul / Triton tiles, fp16 8Ki"),
)


def first(typed: str) -> str:
    return best(typed, [(name, name) for name in NAMES], 1)[0][1]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("softmax triton", "softmax / Triton online, bf16 32Ki × 4Ki"),
        ("triton softmax", "softmax / Triton online, bf16 32Ki × 4Ki"),
        ("run", "Run: Run"),
        ("stop", "Run: Stop"),
        ("save", "File: Save"),
        ("sa as", "File: Save as"),
        ("rt", "Run: Record trace"),
        ("reslay", "View: Reset layout"),
        ("fp16", "matmul / Triton tiles, fp16 8Ki"),
    ],
)
def test_what_is_meant_comes_first(typed: str, found: str) -> None:
    assert first(typed) == found


def test_what_is_not_there_is_not_found() -> None:
    assert match("xyz", "Run: Run") is None
    assert match("softmax eager", NAMES[8]) is None
    assert match("stop", "softmax / torch.compile, fp32") is None  # letters that happen to be there


def test_the_letters_found_are_named() -> None:
    found = match("sto", "Run: Stop")
    assert found is not None
    assert found.places == (5, 6, 7)
