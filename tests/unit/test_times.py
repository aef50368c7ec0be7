"""Times at the ends of the calendar are refused in one sentence at every door that takes one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from maas.http import fields
from maas.http.doors import DOORS
from maas.memory import exported

ENDS = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z")


@pytest.mark.parametrize("kind", [fields.Time, fields.SaidAt, exported.Time], ids=["Time", "SaidAt", "exported"])
def test_end_of_the_calendar_is_refused(kind: Any) -> None:
    for end in ENDS:
        with pytest.raises(ValidationError, match="years 2 to 9998"):
            TypeAdapter(kind).validate_python(end)


def test_whatever_takes_a_time_takes_it_as_one_of_these() -> None:
    models = [*(door.body for door in DOORS if door.body is not None), *exported.Exported.__subclasses__()]
    bare = [f"{model.__name__}.{name}" for model in models for name, field in model.model_fields.items()
            if "datetime" in str(field.annotation) and not field.metadata and field.annotation is datetime]  # fmt: skip
    assert bare == []
