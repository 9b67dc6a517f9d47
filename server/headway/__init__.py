"""Headway: a scheduler for what an AI IDE does, and the language server built on it."""
