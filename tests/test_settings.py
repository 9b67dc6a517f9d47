"""Settings: missing parts default, wrong ones are named and change nothing."""

import pytest

from headway.settings import Settings, described, read


def check(tree: object, *, base: Settings | None = None) -> tuple[Settings, list[str]]:
    base = Settings() if base is None else base
    settings, problems = read(tree, base=base, in_force=base)
    return settings, [str(problem) for problem in problems]


@pytest.mark.parametrize("tree", [None, {}, {"completion": None}, {"unknown": {"x": [1]}}, {"completion": {"new": 1}}])
def test_nothing_that_we_know_changes_nothing(tree: object) -> None:
    assert check(tree) == (Settings(), [])


GO = {"language": "go", "command": ["gopls", "-v"]}


def test_servers_of_other_languages_are_read_and_count_in_trusted_workspaces_only() -> None:
    settings, problems = check({"engines": [GO, {"language": "c", "command": ["clangd"], "priority": "LOW"}]})
    assert problems == []
    assert [(one.language, one.command, one.priority) for one in settings.engines] == [
        ("go", ("gopls", "-v"), "CRITICAL"),
        ("c", ("clangd",), "LOW"),
    ]
    assert settings.without_programs().engines == ()
    assert check({"completion": {"maxItems": 20}}, base=settings)[0].engines == settings.engines


def test_values_are_taken() -> None:
    settings, problems = check(
        {
            "completion": {"maxItems": 20, "softDeadlineMs": 5.5},
            "index": {"exclude": ["a", "b"]},
            "ruff": {"path": "/r"},
        }
    )
    assert problems == []
    assert settings.completion.max_items == 20
    assert settings.completion.soft_deadline_ms == 5.5
    assert settings.index.exclude == ("a", "b")
    assert settings.ruff.path == "/r"


@pytest.mark.parametrize(
    ("tree", "named"),
    [
        (5, "headway must be an object"),
        ({"completion": 5}, "headway.completion must be an object"),
        ({"completion": {"maxItems": "many"}}, "headway.completion.maxItems must be a whole number"),
        ({"completion": {"maxItems": True}}, "headway.completion.maxItems must be a whole number"),
        ({"completion": {"maxItems": 101}}, "headway.completion.maxItems must be at most 100"),
        ({"completion": {"maxItems": 0}}, "headway.completion.maxItems must be at least 1"),
        ({"index": {"enabled": "yes"}}, "headway.index.enabled must be true or false"),
        ({"index": {"exclude": "a"}}, "headway.index.exclude must be a list of strings"),
        ({"index": {"exclude": ["a", 5]}}, "headway.index.exclude must be a list of strings"),
        (
            {"python": {"engines": ["ty", "magic"]}},
            "headway.python.engines must be one of ty, zuban, pyrefly, jedi, index",
        ),
        ({"engines": {}}, "headway.engines must be a list of objects"),
        ({"engines": [5]}, "headway.engines[0] must be an object with language and command"),
        ({"engines": [GO, {"language": ""}]}, "headway.engines[1].language must be a string"),
        ({"engines": [GO, GO]}, "headway.engines[1].language names go a second time"),
        (
            {"engines": [{"language": "go", "command": "gopls"}]},
            "headway.engines[0].command must be a list of strings: the program and its arguments",
        ),
        (
            {"engines": [{**GO, "priority": "urgent"}]},
            "headway.engines[0].priority must be one of CRITICAL, HIGH, NORMAL, LOW, BATCH",
        ),
        (
            {"engines": [{"language": "python", "command": ["x"]}]},
            "headway.engines[0].language must be another one than python, whose engines headway.python.engines names",
        ),
        ({"scheduler": {"onBattery": "panic"}}, "headway.scheduler.onBattery must be one of pause, slow, ignore"),
        (
            {"scheduler": {"cpuLowPercent": 95}},
            "headway.scheduler.cpuLowPercent must be below headway.scheduler.cpuHighPercent",
        ),
        (
            {"completion": {"softDeadlineMs": 5000}},
            "headway.completion.softDeadlineMs must not be above headway.completion.hardDeadlineMs",
        ),
    ],
)
def test_a_wrong_value_is_named_and_what_was_in_force_stays(tree: object, named: str) -> None:
    in_force, _ = check({"completion": {"maxItems": 7}, "scheduler": {"onBattery": "pause"}})
    settings, problems = check(tree, base=in_force)
    assert settings == in_force
    assert problems == [named]


def test_a_wrong_value_leaves_its_neighbours_alone() -> None:
    settings, problems = check({"completion": {"maxItems": "x", "hardDeadlineMs": 900}})
    assert settings.completion.hard_deadline_ms == 900
    assert len(problems) == 1


def test_null_takes_a_nullable_setting_back() -> None:
    in_force, _ = check({"ruff": {"path": "/r"}, "completion": {"maxItems": 7}})
    settings, problems = check({"ruff": {"path": None}, "completion": {"maxItems": None}}, base=in_force)
    assert problems == []
    assert settings.ruff.path is None
    assert settings.completion.max_items == 7


def test_programs_do_not_count_without_trust() -> None:
    settings, _ = check(
        {
            "python": {"interpreter": "/p", "engines": ["index"]},
            "tests": {"python": "/p", "args": ["-p", "evil"], "timeoutS": 9},
            "ruff": {"path": "/r"},
            "ty": {"path": "/t"},
        }
    )
    safe = settings.without_programs()
    assert safe.python.interpreter is None
    assert safe.python.engines == ("index",)
    assert (safe.tests.python, safe.tests.args, safe.tests.timeout_s) == (None, (), 9)
    assert (safe.ruff.path, safe.ty.path) == (None, None)


def test_every_default_is_right_by_its_own_rule() -> None:
    for setting in described():
        assert setting.rule.fault(setting.default) is None, setting.name
