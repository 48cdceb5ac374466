"""A kernel's story with the figures of a session and the lines of its files; its page, and its exercise."""
