"""What files say, by language: tables of rules over tree-sitter's trees, and the one walk that reads them all.

A language is a table in a module of its own; grammars are loaded in worker processes, each when its first file comes.
"""
