"""Retrieval, compression, checking and answering: the wing that manages context."""
