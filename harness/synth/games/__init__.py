"""Games between models, whose outcome a program decides."""
