"""Tasks of the wing."""
