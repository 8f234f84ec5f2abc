"""Which parts of a skill help: units, randomised subsets, effects, receipts."""
