"""The only room that knows the Language Server Protocol."""
