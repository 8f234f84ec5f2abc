"""Training of the weights that ship, as far as `harness train` commands do not do it."""
