"""The one mutable root: turns requests into jobs over snapshots. Knows no LSP."""
