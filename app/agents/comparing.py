"""Two points beside each other, as they were measured or measured anew in turn."""

from roofscope.app.agents.answers import CompareAnswer
from roofscope.app.agents.control import Control
from roofscope.app.agents.looking import compared
from roofscope.app.agents.requests import CompareRequest
from roofscope.app.agents.workbench import Workbench


def compare(bench: Workbench, request: CompareRequest, control: Control) -> CompareAnswer:
    """Raises AgentFault."""
    return compared(bench.session(), request.a, request.b)
