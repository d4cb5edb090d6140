"""Deterministic metrics: pure functions from a question and a prediction to a score from 0 to 1."""
