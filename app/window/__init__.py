"""The window: Qt, and nothing that the command line could not do without it."""
