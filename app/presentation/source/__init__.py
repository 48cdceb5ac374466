"""The source of a point, what the compiler made of it, and how two of them differ; no Qt."""
