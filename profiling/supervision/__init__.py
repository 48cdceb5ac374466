"""One worker at work: the protocol, the supervisor, and what carries its effects out."""
