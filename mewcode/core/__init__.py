"""Values that every part shares: no I/O, no third party but msgspec."""
