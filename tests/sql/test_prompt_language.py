"""The language of prompts: which row is read for a role, and who decides it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import psycopg
import pytest
from psycopg.rows import DictRow

from maas.engine.stages import Deps, RoleModels
from maas.prompting.prompts import built_in_text, prompt_language, read_prompts
from maas.settings import load_settings
from shared.db import Database
from shared.errors import MaasError

Connection = psycopg.Connection[DictRow]


def put(connection: Connection, role: str, text: str) -> None:
    connection.execute(
        "insert into system_prompts (role_name, prompt_template) values (%s, %s) "
        "on conflict (role_name) do update set prompt_template = excluded.prompt_template",
        (role, text),
    )


async def texts(db: Database, *roles: str, language: Any) -> dict[str, tuple[str, str]]:
    return {key: (one.role, one.text) for key, one in (await read_prompts(db, *roles, language=language)).items()}


async def test_each_language_has_a_row_of_its_own(db: Database, connection: Connection) -> None:
    put(connection, "Clerk", "по-русски")
    put(connection, "Clerk.en", "in English")
    assert await texts(db, "Clerk", language="ru") == {"Clerk": ("Clerk", "по-русски")}
    assert await texts(db, "Clerk", language="en") == {"Clerk": ("Clerk.en", "in English")}


async def test_a_language_without_a_row_has_that_of_the_other(db: Database, connection: Connection) -> None:
    put(connection, "Clerk", "по-русски")
    put(connection, "Cook.en", "in English")
    assert await texts(db, "Clerk", "Cook", language="en") == {
        "Clerk": ("Clerk", "по-русски"),
        "Cook": ("Cook.en", "in English"),
    }
    assert (await texts(db, "Cook", language="ru"))["Cook"] == ("Cook.en", "in English")


async def test_a_row_that_is_switched_off_is_not_replaced_by_the_other(db: Database, connection: Connection) -> None:
    put(connection, "Clerk", "по-русски")
    put(connection, "Clerk.en", "in English")
    connection.execute("update system_prompts set is_active = false where role_name = 'Clerk'")
    with pytest.raises(MaasError, match="Clerk"):
        await read_prompts(db, "Clerk")
    assert (await texts(db, "Clerk", language="en"))["Clerk"] == ("Clerk.en", "in English")


async def test_a_missing_prompt_of_a_stage_is_the_built_in_one(db: Database, connection: Connection) -> None:
    connection.execute("delete from system_prompts where role_name in ('Analyzer', 'Analyzer.en')")
    prompts = await read_prompts(db, "Analyzer")
    assert (prompts["Analyzer"].text, prompts["Analyzer"].version) == (built_in_text("Analyzer"), 0)


async def test_an_assistant_decides_before_the_setting(db: Database, connection: Connection) -> None:
    deps = Deps(db, load_settings(), RoleModels({}, cast(Any, None)))
    english = replace(deps, settings=load_settings(prompt_language="en"))
    connection.execute("update assistants set definition = '{}' where name = 'mentor'")
    assert [await prompt_language(one, name) for one in (deps, english) for name in ("mentor", "nobody", None)] == [
        *("ru", "ru", "ru"),
        *("en", "en", "en"),
    ]
    connection.execute("""update assistants set definition = '{"prompt_language": "ru"}' where name = 'mentor'""")
    assert [await prompt_language(one, "mentor") for one in (deps, english)] == ["ru", "ru"]
    connection.execute("""update assistants set definition = '{"prompt_language": "en"}' where name = 'mentor'""")
    assert [await prompt_language(one, "mentor") for one in (deps, english)] == ["en", "en"]
