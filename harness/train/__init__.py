"""Training of the small models that ship, on data of your own."""
