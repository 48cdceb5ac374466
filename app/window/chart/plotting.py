"""pyqtgraph, imported without the CUDA bindings that it would load to show videos.

The window's process never touches CUDA; and the bindings cost a tenth of a second at start-up.
"""

import sys

_BINDINGS = "cuda.bindings"

if _BINDINGS in sys.modules:
    import pyqtgraph as pg
else:
    sys.modules[_BINDINGS] = None  # type: ignore[assignment] - makes its import fail, as if not installed
    try:
        import pyqtgraph as pg
    finally:
        del sys.modules[_BINDINGS]

__all__ = ["pg"]
