"""Tools of the wing."""
