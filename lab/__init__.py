"""The laboratory: simulators, planted worlds, generators of corpora. Not in the wheel."""
