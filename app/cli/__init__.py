"""The command line: the same engine and session files as the window, no Qt."""
