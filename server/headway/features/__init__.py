"""A module per capability: snapshots in, values out. Features never import each other and know no scheduler."""
