"""The official code's files, in and out."""
