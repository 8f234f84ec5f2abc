"""Environments that are real: a document viewer, and a workbook."""
