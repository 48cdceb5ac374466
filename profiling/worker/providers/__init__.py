"""One module per provider: each turns an implementation's files into a callable."""
