"""Isolated execution of model-written code: a ladder of back ends, probed and limited."""
