"""Hands one trace to Perfetto in the user's browser, by a page on 127.0.0.1."""
