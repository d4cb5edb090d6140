"""Verdicts on answers, by rules or by a judge model, with every vote kept."""
