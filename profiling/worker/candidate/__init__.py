"""The process that runs foreign code. It builds, calls and times; another process judges what it says."""
