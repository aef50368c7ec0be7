"""The core knows no assistant and no channel: no word of one stands in its files, but for what is listed here."""

from __future__ import annotations

import re
from pathlib import Path

from maas.plugins import installed

ROOT = Path(__file__).resolve().parents[2]
CORE = [f"maas/{name}" for name in ("engine", "agents", "tools", "http", "cli", "memory", "runs", "settings")] + [
    "shared",
    "sql",
]
SUFFIXES = (".py", ".sql", ".md")
OF_PLUGINS = re.compile(
    r"sticker|telegram|corporate|lightrag|interview|facebook|amocrm|whatsapp|evolution|brain|\bfb_"
    r"|campaign|(?<![a-z])ad_?set|ad_account|creative|\bads\b",
    re.IGNORECASE,
)
ROLES = re.compile(r"analyzer|assembler|archivist|compactor|responder", re.IGNORECASE)
# What is left: columns and values that clients know by these names, and words by which people say what they mean.
_ACCOUNT, _CHAT = {"ad_account"}, {"telegram"}
EXCEPTIONS: dict[str, set[str]] = {
    "maas/tools/consent/__init__.py": {"adset"},
    "maas/tools/consent/tool_words.py": {"ads", "adset", "campaign", "creative"},
    "maas/tools/labels.py": {"adset", "campaign", "creative"},
    "maas/http/conversations.py": _CHAT,
    "maas/memory/transfer/export_rows.py": _ACCOUNT | _CHAT,
    "sql/functions/actions.sql": _ACCOUNT,
    "sql/functions/conversations.sql": _ACCOUNT | _CHAT,
    "sql/functions/profiles.sql": {"interview"},
    "sql/functions/run_triggers.sql": _CHAT,
    "sql/queries/admin.sql": _CHAT,
    "sql/queries/conversations.sql": _CHAT,
    "sql/queries/tools.sql": _ACCOUNT,
    "sql/schema/09_conversations.sql": _ACCOUNT | _CHAT,
    "sql/schema/10_actions.sql": _ACCOUNT,
    "sql/schema/13_users.sql": {"interview"},
    "sql/views/conversations.sql": _CHAT,
    "sql/views/users.sql": {"interview"},
}


def words_in(text: str) -> set[str]:
    return {found.lower() for found in OF_PLUGINS.findall(text)}


def core_files() -> list[Path]:
    files = [path for folder in CORE for suffix in SUFFIXES for path in sorted((ROOT / folder).rglob(f"*{suffix}"))]
    return [path for path in files if "ui" not in path.relative_to(ROOT).parts]


def test_the_core_names_no_plugin() -> None:
    """A file that is named here and has become free of such words must leave the list."""
    found = {str(path.relative_to(ROOT)): words_in(path.read_text(encoding="utf-8")) for path in core_files()}
    assert len(found) > 200
    assert {path: words for path, words in found.items() if words} == EXCEPTIONS


def test_every_plugin_would_be_found() -> None:
    assert all(words_in(name) for name in installed())
    assert words_in("from maas.assistants.ads import x") == {"ads"} and words_in("reads threads") == set()


def test_shared_names_no_role_of_a_model() -> None:
    found = {path: ROLES.findall(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "shared").rglob("*.py"))}
    assert len(found) > 30
    assert not {path: words for path, words in found.items() if words}
