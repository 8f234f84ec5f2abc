"""Objectives of the papers as functions: tensors in, loss or reward and what explains it out."""
