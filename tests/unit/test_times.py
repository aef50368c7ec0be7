"""Times at the ends of the calendar are refused with one sentence by every schema that takes one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from maas.http import schemas
from maas.http.routes import all_routes
from maas.memory.transfer import export_rows as export

ENDS = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z")


@pytest.mark.parametrize(
    "kind", [schemas.Timestamp, schemas.OccurredAt, export.Time], ids=["Timestamp", "OccurredAt", "exported"]
)
def test_end_of_the_calendar_is_refused(kind: Any) -> None:
    for end in ENDS:
        with pytest.raises(ValidationError, match="years 2 to 9998"):
            TypeAdapter(kind).validate_python(end)


def test_every_time_field_has_one_of_these_types() -> None:
    models = [*(route.body for route in all_routes() if route.body is not None), *export.ROW_TYPES.values()]
    bare = [
        f"{model.__name__}.{name}"
        for model in models
        for name, field in model.model_fields.items()
        if "datetime" in str(field.annotation) and not field.metadata and field.annotation is datetime
    ]
    assert bare == []
