"""Models: specs, the OpenAI-compatible client, cache, budget, embedded engine, simulator."""
