"""Plugins are found by entry points and chosen by MAAS_PLUGINS; what is wrong with one is named."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from maas.engine.events import EventType, event_types
from maas.http.openapi import describe
from maas.http.routes import all_routes
from maas.plugins import Plugin, _find, active, installed
from maas.prompting.prompts import BUILT_IN_ROLES, prompt_files
from maas.settings import load_settings
from shared.errors import MaasError

ROOT = Path(__file__).resolve().parents[2]
OURS = ["ads", "corporate", "stickers", "telegram"]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What a test installs is gone after it."""
    yield
    _find.cache_clear()


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, source: str = "") -> None:
    """Install a package with one module and one plugin for the rest of the test."""
    (folder / f"{name}.py").write_text(source)
    (folder / f"{name}-1.dist-info").mkdir()
    (folder / f"{name}-1.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (folder / f"{name}-1.dist-info" / "entry_points.txt").write_text(f"[maas.plugins]\n{value}\n")
    monkeypatch.syspath_prepend(str(folder))
    _find.cache_clear()


def test_the_entry_points_are_those_that_python_finds() -> None:
    found = {(one.name, one.value) for one in entry_points(group="maas.plugins")}
    assert {(plugin.name, f"{plugin.package}:PLUGIN") for plugin in installed().values()} == found


def names() -> list[str]:
    return [plugin.name for plugin in active()]


@pytest.mark.parametrize(
    ("text", "on"),
    [(None, OURS), ("", []), (" , ", []), ("stickers", ["stickers"]), ("stickers, ads,stickers", ["ads", "stickers"])],
)
def test_a_setting_chooses(monkeypatch: pytest.MonkeyPatch, text: str | None, on: list[str]) -> None:
    monkeypatch.delenv("MAAS_PLUGINS", raising=False)
    if text is not None:
        monkeypatch.setenv("MAAS_PLUGINS", text)
    assert names() == on
    named = load_settings().assistants.plugins
    assert named is None if text is None else set(named or ()) == set(on)


def test_the_setting_is_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAAS_PLUGINS", raising=False)
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("MAAS_PLUGINS=stickers\n")
    assert names() == ["stickers"] and load_settings().assistants.plugins == ("stickers",)
    Path(".env").write_text("MAAS_PLUGINS=\n")
    assert names() == [] and load_settings().assistants.plugins == ()


def test_an_unknown_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAAS_PLUGINS", "sticker")
    with pytest.raises(MaasError, match=f"'sticker' is not installed; installed plugins: {', '.join(OURS)}"):
        active()


@pytest.mark.parametrize("name", OURS)
def test_every_part_can_be_loaded(name: str) -> None:
    plugin = installed()[name]
    parts = [*plugin.assistants.values(), plugin.tools, plugin.openers, plugin.servers, plugin.server_names]
    parts += [plugin.settings, plugin.routes, plugin.checks, plugin.tasks, plugin.metrics]
    parts += [plugin.overview]
    parts += [part for one in plugin.commands for part in (one.part, one.service)]
    assert all(plugin.load(part) is not None for part in parts if part is not None)
    assert (plugin.folder / "__init__.py").is_file()


def test_prompts_come_along_with_their_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAAS_PLUGINS", "stickers")
    with_stickers = prompt_files().keys()
    monkeypatch.setenv("MAAS_PLUGINS", "")
    assert with_stickers - prompt_files().keys() == {"Stickers.en", "Stickers.ru"}
    assert {name.partition(".")[0] for name in prompt_files()} == {*BUILT_IN_ROLES, "Mentor"}


def test_two_prompts_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "Mentor.en.md").write_text("You are somebody else.")
    source = "from maas.plugins import Plugin\nPLUGIN = Plugin(name='other', package=__name__)"
    install(tmp_path, monkeypatch, "other", "other = other:PLUGIN", source)
    with pytest.raises(MaasError, match=r"Mentor\.en\.md have one name: rename the role of one"):
        prompt_files()


def test_events_come_along_with_their_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients receive an event of a plugin while it is on, and the document of the API names it."""

    def described() -> list[str]:
        content = describe(all_routes(), "1", True)["paths"]["/v1/runs/{id}/events"]["get"]["responses"]["200"][
            "content"
        ]
        kinds: list[str] = content["text/event-stream"]["schema"]["properties"]["event"]["enum"]
        return kinds

    monkeypatch.setenv("MAAS_PLUGINS", "stickers")
    assert "sticker" in event_types() and "sticker" in described()
    monkeypatch.setenv("MAAS_PLUGINS", "ads")
    assert event_types() == list(EventType) and "sticker" not in described()


def test_a_plugin_is_found_without_its_tools() -> None:
    """A process that needs no part of a plugin loads none: the HTTP server has neither agents nor models."""
    program = "import sys, maas.plugins; maas.plugins.active(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "maas.assistants.stickers" in loaded
    assert not [one for one in loaded if one.startswith(("maas.agents", "maas.engine", "pydantic", "shared.models"))]


def test_a_package_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "from maas.plugins import Plugin\nPLUGIN = Plugin(name='sales_2', package=__name__, tools='x:y')"
    install(tmp_path, monkeypatch, "foreign", "sales_2 = foreign:PLUGIN", source)
    plugin = installed()["sales_2"]
    assert isinstance(plugin, Plugin) and plugin.folder == tmp_path
    with pytest.raises(MaasError, match=r"plugin 'sales_2': 'x:y' cannot be loaded: No module named 'foreign\.x'"):
        plugin.load("x:y")


@pytest.mark.parametrize(
    ("module", "value", "source", "words"),
    [
        ("broken1", "one = broken1:PLUGIN", "import nothing_of_this_name", "cannot be loaded: No module named"),
        ("broken2", "one = broken2:PLUGIN", "", "cannot be loaded: module 'broken2' has no attribute 'PLUGIN'"),
        ("broken3", "one = broken3:PLUGIN", "PLUGIN = 1", "is of the type int, not Plugin"),
        ("broken4", "two = maas.assistants.stickers:PLUGIN", "", "is named 'stickers': both names must be the same"),
        ("broken5", "ads = maas.assistants.ads:PLUGIN", "", "another package has a plugin of this name"),
    ],
)
def test_a_wrong_plugin_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, value: str, source: str, words: str
) -> None:
    install(tmp_path, monkeypatch, module, value, source)
    with pytest.raises(MaasError) as caught:
        active()
    assert caught.value.code == "bad_plugin" and words in caught.value.message
    monkeypatch.setenv("MAAS_PLUGINS", "stickers")
    assert names() == ["stickers"]


@pytest.mark.parametrize("name", OURS)
def test_each_has_a_page_that_names_its_files(name: str) -> None:
    folder = installed()[name].folder
    text = (folder / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/.*]+(?:\.py|\.md|/))`", text)
    missing = [path for path in named if not list(folder.glob(path)) and not list(ROOT.glob(path))]
    assert named and [path for path in missing if not list(ROOT.glob(f"tests/*/{path}"))] == []
    assert {path.name for path in folder.glob("*.py")} - {Path(path).name for path in named} <= {
        "__init__.py",
        "queries.py",
    }
