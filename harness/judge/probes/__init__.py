"""Probes of judges (bias) and of models (policies, likelihood of answers that must not come)."""
