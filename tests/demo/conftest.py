"""Small real projects, and a server whose behaviour is known."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MODEL = '''"""A shop."""

import textwrap
from shop.base import StoredRecord


def describe_record(record, width):
    """Say what it is."""
    first = textwrap.shorten(record.name, width)
    if not first:
        return describe_nothing(width)
    return first


def describe_nothing(width):
    """Say that there is nothing."""
    empty = textwrap.dedent("nothing")
    return empty


class CustomerOrder(StoredRecord):
    """What somebody wants."""

    def total_amount(self):
        """Add up."""
        self.refresh_prices()
        amount = self.load_fields()
        return amount

    def refresh_prices(self):
        """Ask again."""
        self.mark_changed()
        return self.total_amount()

    def print_receipt(self):
        """On paper."""
        self.total_amount()
        return describe_record(self, 10)
'''
BASE = '''"""What is stored."""

import textwrap


class StoredRecord:
    """Has a name."""

    name = ""

    def load_fields(self):
        """Read."""
        self.mark_changed()
        return {}

    def mark_changed(self):
        """Remember."""
        return textwrap.indent(self.name, "")
'''


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """A folder with the given files."""

    def make(files: Mapping[str, str]) -> Path:
        root = tmp_path / "project"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        return root

    return make


@pytest.fixture
def shop(make_project: Callable[[Mapping[str, str]], Path]) -> Path:
    """Two modules with enough statements for a whole demo."""
    return make_project({"shop/__init__.py": "", "shop/base.py": BASE, "shop/model.py": MODEL})


@pytest.fixture
def scripted() -> Callable[[str], tuple[str, ...]]:
    """The command line of a server that behaves as its mode says."""
    return lambda mode: (sys.executable, str(Path(__file__).with_name("scripted_server.py")), mode)
