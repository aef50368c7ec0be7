"""Built-in assistants for tests: MAAS_TOOLS=tests.dummies:TOOLS adds the modules of this folder to the product's."""

from __future__ import annotations

from pathlib import Path

import maas.assistants
from maas.agents.tools import Toolset

maas.assistants.__path__.append(str(Path(__file__).parent))
TOOLS = Toolset([])
