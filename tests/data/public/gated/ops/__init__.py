from gated.ops.rms_norm import RMSNormFunction
from gated.ops.swiglu import SwiGLUFunction

__all__ = ["RMSNormFunction", "SwiGLUFunction"]
