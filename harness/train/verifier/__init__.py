"""How the verdicts without a language model are trained."""
