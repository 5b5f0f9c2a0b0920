"""Models of other programs, converted to model folders."""
