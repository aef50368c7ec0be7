"""What the trial of an upgrade needs before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.errors import MaasError
from tests.chaos.upgrade import check_out


def test_a_commit_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MaasError, match="no-such-commit") as caught:
        check_out("no-such-commit", tmp_path / "former")
    assert caught.value.code == "no_commit"
