"""What is written twice is the same: protocol.py = protocol.ts = docs/lsp-extensions.md; settings.py = package.json."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NotRequired, get_args, get_origin, get_type_hints

import pytest

from headway import settings
from headway.lsp import protocol

ROOT = Path(__file__).resolve().parent.parent
TYPESCRIPT = (ROOT / "client-vscode" / "src" / "protocol.ts").read_text(encoding="utf-8")
DOCUMENT = (ROOT / "docs" / "lsp-extensions.md").read_text(encoding="utf-8")
MANIFEST: dict[str, Any] = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))

# Types that only one side needs: results are dictionaries in Python, states strings.
ONLY_IN_THE_EXTENSION = {"AnalysisResult", "Paused", "Place", "Request", "SearchParts", "TestsResult", "TraceEvent"}

CONSTANTS = {name: value for name, value in vars(protocol).items() if name.isupper() and isinstance(value, str)}
PAYLOADS = {name: value for name, value in vars(protocol).items() if typing.is_typeddict(value)}
INTERFACES = {
    name: (base, body)
    for name, base, body in re.findall(
        r"^export interface (\w+)(?:<[^>]*>)?(?: extends (\w+))? \{(.*?)^\}", TYPESCRIPT, re.MULTILINE | re.DOTALL
    )
}
ALIASES = {
    name: re.findall(r'"(\w+)"', body)
    for name, body in re.findall(r'^export type (\w+) = ((?:"\w+"(?: \| )?)+);', TYPESCRIPT, re.MULTILINE)
}

Keys = dict[str, tuple[bool, bool]]  # name -> may be missing, may be null


def payload_keys(payload: type) -> Keys:
    """Give the keys of a TypedDict, with those that it inherits."""
    hints = get_type_hints(payload, include_extras=True)
    whole: bool = payload.__total__  # type: ignore[attr-defined]
    # `__optional_keys__` knows nothing of NotRequired where annotations are strings.
    return {name: (not whole or get_origin(hint) is NotRequired, _nullable(hint)) for name, hint in hints.items()}


def _nullable(hint: Any) -> bool:
    if get_origin(hint) is NotRequired:
        hint = get_args(hint)[0]
    return type(None) in get_args(hint)


def interface_keys(name: str) -> Keys:
    """Give the keys of an interface, with those of the one that it extends."""
    base, body = INTERFACES[name]
    found = re.findall(r"^  readonly (\w+)(\??): (.*);$", body, re.MULTILINE)
    inherited = interface_keys(base) if base else {}
    return inherited | {key: (optional == "?", kind.endswith("| null")) for key, optional, kind in found}


def test_both_sides_name_methods_and_commands_alike() -> None:
    mirrored = dict(re.findall(r'^export const ([A-Z_]+) = "(headway[/.]\w+)";', TYPESCRIPT, re.MULTILINE))
    assert mirrored == CONSTANTS
    assert f"PROTOCOL_VERSION = {protocol.PROTOCOL_VERSION};" in TYPESCRIPT


@pytest.mark.parametrize("name", sorted(INTERFACES.keys() - ONLY_IN_THE_EXTENSION))
def test_a_payload_has_the_same_keys_on_both_sides(name: str) -> None:
    assert interface_keys(name) == payload_keys(PAYLOADS[name])


def test_no_payload_is_missing_in_the_extension() -> None:
    assert PAYLOADS.keys() - INTERFACES.keys() == set()


@pytest.mark.parametrize("name", ["ServerState", "PauseReason", "AlertLevel", "Why"])
def test_names_of_states_are_the_same_on_both_sides(name: str) -> None:
    assert ALIASES[name] == list(get_args(getattr(protocol, name)))


def test_priorities_are_the_same_on_both_sides() -> None:
    listed = re.search(r"PRIORITIES = \[(.*?)\]", TYPESCRIPT)
    assert listed is not None
    assert re.findall(r'"(\w+)"', listed[1]) == list(get_args(protocol.PriorityName))


def test_the_document_names_every_method_and_command_and_no_other() -> None:
    mentioned = set(re.findall(r"`(headway/\w+|headway\.[a-z]\w+)`", DOCUMENT))
    spoken = {name for name in mentioned if name.startswith("headway/") or name in CONSTANTS.values()}
    assert spoken == set(CONSTANTS.values())


@pytest.mark.parametrize("name", sorted(PAYLOADS))
def test_the_document_names_every_key(name: str) -> None:
    missing = [key for key in payload_keys(PAYLOADS[name]) if not re.search(rf"\b{key}\b", DOCUMENT)]
    assert missing == []


@pytest.mark.parametrize(
    ("method", "payload"),
    [
        (protocol.QUEUE_STATE, protocol.QueueState),
        (protocol.JOB_UPDATED, protocol.JobInfo),
        (protocol.ALERT, protocol.Alert),
    ],
)
def test_examples_in_the_document_have_the_payload_s_keys(method: str, payload: type) -> None:
    section = DOCUMENT.split(f"### `{method}`\n")[1]
    block = re.search(r"```json\n(.*?)```", section, re.DOTALL)
    assert block is not None
    keys = payload_keys(payload)
    example = json.loads(block[1])
    assert example.keys() <= keys.keys()
    assert {key for key, (optional, _) in keys.items() if not optional} <= example.keys()


def manifest_settings() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for group in MANIFEST["contributes"]["configuration"]:
        for name, declared in group["properties"].items():
            yield name.removeprefix("headway."), declared


DECLARED = dict(manifest_settings())
DESCRIBED = {setting.name: setting for setting in settings.described()}


def test_the_manifest_declares_every_setting_and_no_other() -> None:
    assert DECLARED.keys() == DESCRIBED.keys() | set(settings.EXTENSION_ONLY)


@pytest.mark.parametrize("name", sorted(DESCRIBED))
def test_the_manifest_declares_a_setting_as_the_server_reads_it(name: str) -> None:
    declared, setting = DECLARED[name], DESCRIBED[name]
    rule = setting.rule
    kind = [rule.type, "null"] if rule.nullable else rule.type
    choices = declared.get("items", declared).get("enum")
    assert declared["type"] == kind
    assert declared["default"] == setting.default
    assert (declared.get("minimum"), declared.get("maximum")) == (rule.minimum, rule.maximum)
    assert choices == (list(rule.choices) or None)
    assert (declared.get("scope") == "machine") == rule.machine


def test_settings_that_name_programs_are_restricted() -> None:
    restricted = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    programs = {f"headway.{name}" for name, setting in DESCRIBED.items() if setting.rule.program}
    assert set(restricted) == programs | {"headway.interpreter"}


def test_the_palette_has_every_command_of_the_server() -> None:
    offered = {command["command"] for command in MANIFEST["contributes"]["commands"]}
    assert set(protocol.COMMANDS) <= offered


def test_both_packages_have_the_same_version() -> None:
    found = re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert MANIFEST["version"] == found[1]


def test_the_extension_shows_no_ghost_text() -> None:
    sources = list((ROOT / "client-vscode" / "src").glob("*.ts"))
    assert sources
    assert [path.name for path in sources if "InlineCompletion" in path.read_text(encoding="utf-8")] == []
