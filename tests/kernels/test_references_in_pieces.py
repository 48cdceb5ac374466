"""References that go piece by piece are right where a piece ends, too."""

import pytest
import torch

from roofscope.kernels.attention import reference as attention
from roofscope.kernels.attention_backward import reference as attention_backward
from roofscope.kernels.linear_cross_entropy_backward import reference as last_layer


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "scores"), [(5, 1), (8, 3 * 8 * 21), (2048, 2**25)])
def test_gradients_of_attention_are_those_of_autograd(
    causal: bool, queries: int, scores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heads are taken one at a time, three and one, or all at once."""
    monkeypatch.setattr(attention, "QUERIES", queries)
    monkeypatch.setattr(attention, "SCORES", scores)
    torch.manual_seed(1)
    q, k, v, do = (torch.randn(2, 2, 21, 4, dtype=torch.float64) for _ in range(4))
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    scores = leaves[0] @ leaves[1].mT / 2.0
    if causal:
        scores = scores.masked_fill(torch.ones(21, 21, dtype=torch.bool).triu(1), -torch.inf)
    expected = scores.softmax(dim=-1) @ leaves[2]
    expected.backward(do)
    o, lse = attention.attend(q, k, v, causal=causal)
    torch.testing.assert_close(o, expected.detach())
    torch.testing.assert_close(lse, scores.detach().logsumexp(dim=-1))
    found = attention_backward.gradients(q, k, v, o, lse, do, causal=causal)
    for gradient, leaf in zip(found, leaves, strict=True):
        torch.testing.assert_close(gradient, leaf.grad)


@pytest.mark.parametrize("rows_at_once", [4, 512])
def test_gradients_of_a_last_layer_are_those_of_autograd(
    rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_layer, "ROWS_AT_ONCE", rows_at_once)
    torch.manual_seed(2)
    x, w = torch.randn(11, 6, dtype=torch.float64), torch.randn(9, 6, dtype=torch.float64)
    labels, dloss = torch.randint(9, (11,)), torch.randn(11, dtype=torch.float64)
    labels[3] = last_layer.IGNORED
    leaves = [one.clone().requires_grad_() for one in (x, w)]
    logits = leaves[0] @ leaves[1].T
    torch.nn.functional.cross_entropy(logits, labels, reduction="none").backward(dloss)
    found = last_layer.run(x, w, labels, *last_layer.derive(x, w), dloss)
    for gradient, leaf in zip(found, leaves, strict=True):
        torch.testing.assert_close(gradient, leaf.grad)
