"""Mutated files and bodies for every parser of what strangers write."""
