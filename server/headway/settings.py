"""The frozen tree of settings: its defaults, what values are right, and reading it from a client's JSON.

The tree mirrors the editor's `headway.*` settings; the names on the wire are camelCase. A wrong value never raises: it
becomes a `Problem` that names it, and what was in force before stays in force. This room knows no client and no file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What the wire calls a setting and which values it takes.

    Args:
        key: The last part of its name on the wire.
        type: JSON type: "boolean", "integer", "number", "string" or "array" (of strings).
        choices: The only strings (or items) that are right, where there are any.
        program: It names a program or its arguments, or where a workspace's text is sent: it counts only in a trusted
            workspace.
        machine: A workspace cannot set it, only its user.
    """

    key: str
    type: str
    nullable: bool = False
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    program: bool = False
    machine: bool = False

    def fault(self, value: object) -> str | None:
        """Say what is wrong with a value, or None where it is right."""
        if value is None:
            return None if self.nullable else "must not be null"
        match self.type:
            case "boolean":
                return None if isinstance(value, bool) else "must be true or false"
            case "integer" | "number":
                return self._number_fault(value)
            case "string":
                return self._string_fault(value)
            case _:
                if not isinstance(value, list):
                    return "must be a list of strings"
                return next((fault for item in value if (fault := self._string_fault(item))), None)

    def _number_fault(self, value: object) -> str | None:
        kinds = (int,) if self.type == "integer" else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            return "must be a whole number" if self.type == "integer" else "must be a number"
        if self.minimum is not None and value < self.minimum:
            return f"must be at least {self.minimum:g}"
        if self.maximum is not None and value > self.maximum:
            return f"must be at most {self.maximum:g}"
        return None

    def _string_fault(self, value: object) -> str | None:
        if not isinstance(value, str):
            return "must be a string" if self.type == "string" else "must be a list of strings"
        if self.choices and value not in self.choices:
            return f"must be one of {', '.join(self.choices)}"
        return None


def _setting(default: _T, rule: Rule, *, is_shown: bool = True) -> _T:
    made: _T = field(default=default, metadata={"rule": rule}, repr=is_shown)
    return made


def _outside(key: str, type_: str = "string", **more: Any) -> Rule:
    """A rule for what decides where text of a workspace is sent."""
    return Rule(key=key, type=type_, program=True, machine=True, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonSettings:
    """The workspace's Python: the interpreter whose packages count, and who answers about names."""

    interpreter: str | None = _setting(None, Rule(key="interpreter", type="string", nullable=True, program=True))
    engines: tuple[str, ...] = _setting(
        ("ty", "jedi", "index"), Rule(key="engines", type="array", choices=("ty", "zuban", "pyrefly", "jedi", "index"))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionSettings:
    soft_deadline_ms: float = _setting(45, Rule(key="softDeadlineMs", type="number", minimum=1, maximum=10_000))
    hard_deadline_ms: float = _setting(2000, Rule(key="hardDeadlineMs", type="number", minimum=10, maximum=60_000))
    max_items: int = _setting(100, Rule(key="maxItems", type="integer", minimum=1, maximum=100))
    # As in Pylance: a name is as often handed on as it is called, and who types the bracket gets its partner anyway.
    call_parentheses: bool = _setting(False, Rule(key="callParentheses", type="boolean"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticsSettings:
    enabled: bool = _setting(True, Rule(key="enabled", type="boolean"))
    debounce_ms: float = _setting(150, Rule(key="debounceMs", type="number", minimum=0, maximum=10_000))
    types: str = _setting("auto", Rule(key="types", type="string", choices=("auto", "on", "off")))
    workspace: bool = _setting(False, Rule(key="workspace", type="boolean"))
    max_wait_ms: float = _setting(1000, Rule(key="maxWaitMs", type="number", minimum=0, maximum=60_000))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    enabled: bool = _setting(True, Rule(key="enabled", type="boolean"))
    exclude: tuple[str, ...] = _setting((), Rule(key="exclude", type="array"))
    max_file_size_kb: float = _setting(1024, Rule(key="maxFileSizeKb", type="number", minimum=1, maximum=1_048_576))
    allow_secrets: tuple[str, ...] = _setting((), Rule(key="allowSecrets", type="array"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingsSettings:
    """An endpoint that turns texts into vectors, for search by meaning; without a URL nothing is sent anywhere."""

    url: str | None = _setting(None, _outside("url", nullable=True))
    model: str = _setting("", _outside("model"))
    api_key: str | None = _setting(None, _outside("apiKey", nullable=True), is_shown=False)
    dimensions: int | None = _setting(None, _outside("dimensions", "integer", nullable=True, minimum=1, maximum=3584))
    query_prefix: str = _setting("", _outside("queryPrefix"))
    passage_prefix: str = _setting("", _outside("passagePrefix"))
    batch_size: int = _setting(16, _outside("batchSize", "integer", minimum=1, maximum=256))
    max_concurrency: int = _setting(4, _outside("maxConcurrency", "integer", minimum=1, maximum=64))
    query_timeout_ms: float = _setting(400, _outside("queryTimeoutMs", "number", minimum=10, maximum=10_000))


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestSettings:
    python: str | None = _setting(None, Rule(key="python", type="string", nullable=True, program=True))
    args: tuple[str, ...] = _setting((), Rule(key="args", type="array", program=True))
    timeout_s: float = _setting(300, Rule(key="timeoutS", type="number", minimum=1, maximum=86_400))


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSettings:
    """Limits of the machine that work may use; None means: as measured."""

    cpu_cores: float | None = _setting(None, Rule(key="cpuCores", type="number", nullable=True, minimum=0.5))
    memory_mb: float | None = _setting(None, Rule(key="memoryMb", type="number", nullable=True, minimum=128))
    on_battery: str = _setting("slow", Rule(key="onBattery", type="string", choices=("pause", "slow", "ignore")))
    cpu_high_percent: float = _setting(90, Rule(key="cpuHighPercent", type="number", minimum=1, maximum=100))
    cpu_low_percent: float = _setting(70, Rule(key="cpuLowPercent", type="number", minimum=0, maximum=100))
    memory_high_percent: float = _setting(90, Rule(key="memoryHighPercent", type="number", minimum=1, maximum=100))
    memory_low_percent: float = _setting(80, Rule(key="memoryLowPercent", type="number", minimum=0, maximum=100))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """Where a tool is, if not the one that Headway was installed with."""

    path: str | None = _setting(None, Rule(key="path", type="string", nullable=True, program=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherEngine:
    """A language server that answers for one language other than Python.

    Args:
        language: As the editor calls it (LSP's languageId).
        command: The program and its arguments.
        priority: How urgent what it computes is; its process gets no more of the machine than that.
    """

    language: str
    command: tuple[str, ...]
    priority: str = "CRITICAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    level: str = _setting("info", Rule(key="level", type="string", choices=("error", "warning", "info", "debug")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, each with a right value."""

    python: PythonSettings = PythonSettings()
    completion: CompletionSettings = CompletionSettings()
    diagnostics: DiagnosticsSettings = DiagnosticsSettings()
    index: IndexSettings = IndexSettings()
    embeddings: EmbeddingsSettings = EmbeddingsSettings()
    tests: PytestSettings = PytestSettings()
    scheduler: SchedulerSettings = SchedulerSettings()
    ruff: ToolSettings = ToolSettings()
    ty: ToolSettings = ToolSettings()
    log: LogSettings = LogSettings()
    engines: tuple[OtherEngine, ...] = field(
        default=(), metadata={"rule": Rule(key="engines", type="array", program=True)}
    )

    def without_programs(self) -> Settings:
        """Return what counts in an untrusted workspace: everything that names a program is at its default."""
        groups: dict[str, Any] = {}
        for group_field in _groups():  # `engines`, which names programs, falls to its default
            group = getattr(self, group_field.name)
            harmless = {leaf.name: leaf.default for leaf in dataclasses.fields(group) if leaf.metadata["rule"].program}
            groups[group_field.name] = dataclasses.replace(group, **harmless)
        return Settings(**groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A value that was not taken. `name` is the setting's full name; `fault` says what is wrong with it."""

    name: str
    fault: str

    def __str__(self) -> str:
        return f"{self.name} {self.fault}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A setting as an editor's manifest declares it."""

    name: str  # dotted, without the leading "headway."
    rule: Rule
    default: Any  # as JSON


def _groups() -> list[dataclasses.Field[Any]]:
    return [group for group in dataclasses.fields(Settings) if "rule" not in group.metadata]


# Read by the editor's extension only; the server takes them as known and does nothing with them.
EXTENSION_ONLY = ("coexistence", "interpreter", "trace.server")


def described() -> Iterator[Described]:
    """Give every setting that the server reads, in order."""
    for group_field in dataclasses.fields(Settings):
        if "rule" in group_field.metadata:
            yield Described(name=group_field.name, rule=group_field.metadata["rule"], default=[])
            continue
        for leaf in dataclasses.fields(group_field.default):  # type: ignore[arg-type]
            rule: Rule = leaf.metadata["rule"]
            default = list(leaf.default) if isinstance(leaf.default, tuple) else leaf.default
            yield Described(name=f"{group_field.name}.{rule.key}", rule=rule, default=default)


def read(tree: object, *, base: Settings, in_force: Settings) -> tuple[Settings, tuple[Problem, ...]]:
    """Read a client's JSON into settings.

    Args:
        tree: What stands under `headway`; None and missing parts are fine, unknown keys are ignored.
        base: Gives the values of what is missing: the defaults for a whole tree, what is in force for a partial one.
        in_force: Gives the values of what is wrong.

    Returns:
        The settings, and a problem for each value that was not taken.
    """
    problems: list[Problem] = []
    if tree is None:
        return base, ()
    if not isinstance(tree, Mapping):
        return in_force, (Problem(name="headway", fault="must be an object"),)
    groups: dict[str, Any] = {}
    for group_field in _groups():
        key = group_field.name
        given = tree.get(key)
        if given is None:
            continue
        if not isinstance(given, Mapping):
            problems.append(Problem(name=f"headway.{key}", fault="must be an object"))
            groups[group_field.name] = getattr(in_force, group_field.name)
            continue
        groups[group_field.name] = _read_group(
            given, f"headway.{key}", getattr(base, group_field.name), getattr(in_force, group_field.name), problems
        )
    if tree.get("engines") is not None:
        groups["engines"] = _read_engines(tree["engines"], in_force.engines, problems)
    settings = dataclasses.replace(base, **groups)
    return _ordered(settings, in_force, problems), tuple(problems)


def _read_group(given: Mapping[str, Any], name: str, base: _T, in_force: _T, problems: list[Problem]) -> _T:
    values: dict[str, Any] = {}
    for leaf in dataclasses.fields(base):  # type: ignore[arg-type]
        rule: Rule = leaf.metadata["rule"]
        if rule.key not in given or (given[rule.key] is None and not rule.nullable):
            continue
        value = given[rule.key]
        if (fault := rule.fault(value)) is not None:
            problems.append(Problem(name=f"{name}.{rule.key}", fault=fault))
            values[leaf.name] = getattr(in_force, leaf.name)
        else:
            values[leaf.name] = tuple(value) if isinstance(value, list) else value
    return dataclasses.replace(base, **values)  # type: ignore[type-var]


_PRIORITIES = ("CRITICAL", "HIGH", "NORMAL", "LOW", "BATCH")


def _read_engines(given: object, in_force: tuple[OtherEngine, ...], problems: list[Problem]) -> tuple[OtherEngine, ...]:
    """Read the language servers of other languages: one wrong one and all stay as they were."""
    name = "headway.engines"
    if not isinstance(given, list):
        problems.append(Problem(name=name, fault="must be a list of objects"))
        return in_force
    engines: list[OtherEngine] = []
    for place, item in enumerate(given):
        key, fault = _engine_fault(item, {engine.language for engine in engines})
        if fault:
            problems.append(Problem(name=f"{name}[{place}]{key}", fault=fault))
            return in_force
        engines.append(
            OtherEngine(
                language=item["language"], command=tuple(item["command"]), priority=item.get("priority") or "CRITICAL"
            )
        )
    return tuple(engines)


def _engine_fault(item: object, languages: Collection[str]) -> tuple[str, str]:
    """Return which part of a server's description is wrong and how; both empty where none is."""
    if not isinstance(item, Mapping):
        return "", "must be an object with language and command"
    language, command = item.get("language"), item.get("command")
    if not isinstance(language, str) or not language:
        return ".language", "must be a string"
    if language == "python":
        return ".language", "must be another one than python, whose engines headway.python.engines names"
    if language in languages:
        return ".language", f"names {language} a second time"
    if not isinstance(command, list) or not command or not all(isinstance(word, str) and word for word in command):
        return ".command", "must be a list of strings: the program and its arguments"
    if item.get("priority") not in (None, *_PRIORITIES):
        return ".priority", f"must be one of {', '.join(_PRIORITIES)}"
    return "", ""


def _ordered(settings: Settings, in_force: Settings, problems: list[Problem]) -> Settings:
    """Low marks lie below high ones; where they do not, both stay as they were."""
    limits = settings.scheduler
    for what in ("cpu", "memory"):
        low, high = f"{what}_low_percent", f"{what}_high_percent"
        if getattr(limits, low) >= getattr(limits, high):
            fault = f"must be below headway.scheduler.{what}HighPercent"
            problems.append(Problem(name=f"headway.scheduler.{what}LowPercent", fault=fault))
            limits = dataclasses.replace(
                limits, **{low: getattr(in_force.scheduler, low), high: getattr(in_force.scheduler, high)}
            )
    if settings.completion.soft_deadline_ms > settings.completion.hard_deadline_ms:
        fault = "must not be above headway.completion.hardDeadlineMs"
        problems.append(Problem(name="headway.completion.softDeadlineMs", fault=fault))
        settings = dataclasses.replace(settings, completion=in_force.completion)
    return dataclasses.replace(settings, scheduler=limits)
