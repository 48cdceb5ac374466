"""The engine: specs, plans, the worker process, outcomes, sessions. No Qt."""
