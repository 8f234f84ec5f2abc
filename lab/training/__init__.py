"""How the weights that ship were made, as far as `harness train` commands do not make them."""
