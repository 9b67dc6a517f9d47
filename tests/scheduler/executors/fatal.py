"""A module that no process survives that imports it."""

import os

os._exit(3)
