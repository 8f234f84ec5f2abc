"""The merge: many patches in, one conflict-free set of edits out."""
