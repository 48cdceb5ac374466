"""The kernel library: one folder a kernel. See README.md beside this file."""
