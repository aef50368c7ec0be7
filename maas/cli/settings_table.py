"""The settings as maas doctor prints them."""

from __future__ import annotations

from os import environ

from pydantic import SecretStr

from maas.settings import Settings
from maas.settings.profiles import PROFILES
from maas.settings.variables import names_in_file, variables
from maas.terminal.output import Table, show
from shared import log


def show_settings(settings: Settings, is_whole: bool) -> None:
    """Print settings with their values, secrets hidden, and their sources; without `is_whole` those that are set."""
    table = Table()
    for name in ("setting", "value", "from"):
        table.add_column(name, overflow="fold")
    from_file, by_profile = names_in_file(), PROFILES[settings.profile]
    for name, variable in variables().items():
        value = settings.named(name)
        is_hidden = isinstance(value, SecretStr) or value is None
        text = ("set, hidden" if value else "") if is_hidden else log.mask(str(value))
        source = "environment" if environ.get(variable) else ".env" if variable in from_file else "default"
        if source == "default" and name in by_profile:
            source = f"profile {settings.profile}"
        if is_whole or source != "default":
            table.add_row(variable, text, source)
    if table.row_count:
        show(table)
    else:
        show("every setting has its default")
    if not is_whole:
        show("(maas doctor --all prints every setting)")
    show()
