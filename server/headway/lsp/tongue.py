"""In which language a person is told something: English, or Simplified Chinese where `initialize` asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headway.wording import Said

if TYPE_CHECKING:
    from headway.scheduler.alerts import Alert

_CHINESE = ("zh", "zh-cn", "zh-sg", "zh-hans")


class Tongue:
    """Says things in one language; what it has no words for stays English.

    Args:
        locale: As the client gave it (a BCP 47 tag such as "zh-cn"), or whatever stands in its place.
    """

    def __init__(self, locale: object = None) -> None:
        self._words: Mapping[str, str] = {}
        tag = locale.lower().replace("_", "-") if isinstance(locale, str) else ""
        if tag in _CHINESE or tag.startswith("zh-hans-"):
            from headway.lsp.chinese import CHINESE  # Only who reads it pays for it.

            self._words = CHINESE

    def tell(self, text: str) -> str:
        """Return a sentence in this language, as a plain string."""
        if not self._words or not isinstance(text, Said):
            return str(text)
        facts = {name: self.tell(fact) if isinstance(fact, str) else fact for name, fact in text.facts.items()}
        return self._words.get(text.pattern, text.pattern).format(**facts)

    def alert(self, alert: Alert) -> str:
        """Return what an alert says."""
        if not self._words:
            return alert.message
        from headway.scheduler.alerts import RULES, AlertLevel  # It is there by now; a start need not wait for it.

        pattern = next((self._words.get(rule.message) for rule in RULES if rule.metric == alert.metric), None)
        if pattern is None:
            return alert.message
        where = " ".join(alert.labels.values())
        said = pattern.format(value=alert.value, threshold=alert.threshold, where=where)
        return f"{self._words['over: ']}{said}" if alert.level is AlertLevel.RESOLVED else said
