"""The window's frame and its dialogs."""
