"""The function that hands out results is swapped between two looks at it, and puts itself back.

source: issue 16 of this project, found by a tester
needs: cpu
workload: doubled
right: tampered, wrong values
says: get, profile
"""

import gc
import sys

import torch

_lenders = [
    vars(module)["Lender"]
    for name, module in list(sys.modules.items())
    if name.startswith("roofscope.") and "Lender" in vars(module)
]
_waiting: list[torch.Tensor] = []
_true_profile = sys.getprofile


def _put_right() -> None:
    for host in gc.get_objects():
        if type(host).__name__ == "Host" and _waiting:
            for tensor in host._returned:
                tensor.copy_(_waiting[-1] * 2)
    _waiting.clear()


if _lenders:
    _lender = _lenders[0]
    _true = _lender.get.__code__
    sys.modules["_between"] = type(sys)("_between")
    sys.modules["_between"].act = lambda: (setattr(_lender.get, "__code__", _true), _put_right())

    def _get(self, key):
        import sys

        sys.modules["_between"].act()
        return self.get(key)

    def _profile():
        if _waiting:
            _lender.get.__code__ = _get.__code__
        return _true_profile()

    sys.getprofile = _profile


def run(x: torch.Tensor) -> torch.Tensor:
    frame, names = sys._getframe(1), set()
    while frame is not None:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    if "_call" in names:
        _waiting.append(x)
        return torch.zeros_like(x)
    return x * 2 if "run_on" in names else torch.empty_like(x)
