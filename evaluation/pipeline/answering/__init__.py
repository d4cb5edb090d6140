"""Answers from retrieved memories: an offline extractive answerer and one that asks a chat model."""
