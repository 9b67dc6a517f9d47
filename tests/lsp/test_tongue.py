"""People are told things in their language: English, or Simplified Chinese where `initialize` says so."""

import ast
import pickle
import string
from pathlib import Path

import pytest

from headway.lsp.chinese import CHINESE
from headway.lsp.tongue import Tongue
from headway.scheduler.alerts import RULES, Alert, AlertLevel
from headway.wording import joined, say
from tests.lsp.wire import run, server

SOURCES = Path(__file__).resolve().parents[2] / "server" / "headway"


def patterns() -> set[str]:
    """Every pattern that is said anywhere, and what alerts say."""
    found = {rule.message for rule in RULES} | {"over: "}
    for path in SOURCES.rglob("*.py"):
        if "from headway.wording import" not in (source := path.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                pattern = node.args[0]
                assert isinstance(pattern, ast.Constant), f"{path}:{node.lineno}: a pattern must be a literal"
                found.add(str(pattern.value))
    return found


def test_everything_that_is_said_has_chinese_words_and_nothing_else_has() -> None:
    assert patterns() == set(CHINESE)


@pytest.mark.parametrize("pattern", CHINESE)
def test_a_translation_has_the_same_facts(pattern: str) -> None:
    def facts(text: str) -> list[tuple[str | None, str | None, str | None]]:
        return sorted((f[1:] for f in string.Formatter().parse(text) if f[1] is not None), key=str)

    assert facts(CHINESE[pattern]) == facts(pattern)


@pytest.mark.parametrize(
    ("locale", "chinese"),
    [
        *[("zh-cn", True), ("zh_CN", True), ("zh-Hans", True), ("zh-Hans-CN", True), ("zh", True)],
        *[("zh-tw", False), ("en", False), ("de-AT", False), (None, False), (5, False), ("", False)],
    ],
)
def test_who_is_told_in_chinese(locale: object, chinese: bool) -> None:
    assert (Tongue(locale).tell(say("Run tests")) == "运行测试") is chinese


def test_sentences_in_sentences_survive_a_process_boundary() -> None:
    reason = say("another program holds its lock")
    said = joined(
        "\n", [say("Index {folders}", folders="Run tests"), say("History of jobs: {problem}", problem=reason)]
    )
    assert said == "Index Run tests\nHistory of jobs: another program holds its lock"
    assert (
        Tongue("zh-cn").tell(pickle.loads(pickle.dumps(said))) == "为 Run tests 建立索引\n任务历史：另一个程序锁定了它"
    )
    assert Tongue("zh-cn").tell("Run tests") == "Run tests", "a person's own words are left alone"
    assert type(Tongue("en").tell(said)) is str, "encoders take no other"


def test_an_alert_is_said_with_its_figures() -> None:
    labels = {"priority": "BATCH"}
    alert = Alert(
        alert_id="a", metric="queue.depth", labels=labels, level=AlertLevel.RESOLVED, value=70, threshold=100,
        since_s=0, message="over: 70 BATCH tasks wait (limit 100)",
    )  # fmt: skip
    assert Tongue("zh-cn").alert(alert) == "已恢复：70 个 BATCH 任务在等待（上限 100）"
    assert Tongue("en").alert(alert) == alert.message


def test_a_person_reads_the_state_titles_and_messages_in_chinese(tmp_path: Path) -> None:
    """All of it over the wire: what is off, a message, a job's title; a title that a client gave stays as it is."""
    (tmp_path / "a.py").write_text("name = 1\n")
    (tmp_path / "cache").write_text("no folder")

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            options = {"settings": {"completion": {"maxItems": "all"}}}
            await wire.initialize(tmp_path, locale="zh-cn", initializationOptions=options)
            state = await wire.note("headway/queueState", lambda state: state["message"] is not None)
            assert "索引无法保存在" in state["message"]
            shown = await wire.note("window/showMessage", lambda shown: "设置" in shown["message"])
            assert shown["message"].startswith("Headway 不接受的设置：headway.completion.maxItems")
            view = await wire.ask("headway/submit", {"type": "index", "arguments": {}})
            assert view["title"] == f"为 {tmp_path.name} 建立索引"
            view = await wire.ask("headway/submit", {"type": "index", "title": "Run tests", "arguments": {}})
            assert view["title"] == "Run tests"
            assert await wire.exit() == 0

    run(scenario())
