"""Engines that serve models: the embedded engine and vLLM."""
