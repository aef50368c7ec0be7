"""`maas load` and `maas secrets` as an operator types them."""

from __future__ import annotations

import json
import subprocess
from uuid import UUID, uuid4

from tests.polling import poll
from tests.programs import MAAS
from tests.stack import Stack, maas

SECRET = "planted-operator-token-3"


def typed(stack: Stack, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with this text on standard input."""
    environment = {"DATABASE_URL": stack.dsn, "PATH": "/usr/bin:/bin"}
    return subprocess.run([str(MAAS), *words], input=text, env=environment, capture_output=True, text=True, timeout=60)


def test_loading(stack: Stack, user: UUID) -> None:
    """From a file and from standard input, with a progress bar; a table is opened by one statement."""
    path = stack.folder / "plants.ndjson"
    path.write_text("".join(json.dumps({"id": n, "name": f"plant {n}"}) + "\n" for n in range(1200)))
    closed = maas(stack, "load", str(path), "--table", "plants", "--user", str(user))
    assert closed.returncode == 1 and "not open for loading" in closed.stderr and "Traceback" not in closed.stderr
    stack.rows("create table maas.plants (id int primary key, user_id uuid not null, name text)")
    stack.rows("insert into maas.loadable_tables (name, columns) values ('plants', '{id,name}')")
    loaded = maas(stack, "load", str(path), "--table", "plants", "--user", str(user))
    assert loaded.returncode == 0, loaded.stderr
    assert "plants: 1200 rows added, 0 changed, 0 unchanged" in loaded.stdout
    assert "1200/1200" in loaded.stderr and "/s" in loaded.stderr
    again = typed(stack, path.read_text() + '{"id": 5}', "load", "-", "--table", "plants", "--user", str(user))
    assert "plants: 0 rows added, 0 changed, 1201 unchanged" in again.stdout, again.stderr
    broken = typed(stack, '{"id": 1, "name": "x"}\n{"id": "one"}\n', "load", "-", "--table", "plants", "-u", str(user))
    assert broken.returncode == 1
    assert "maas: standard input, line 2: id: must be a number, not a string" in broken.stderr
    assert stack.rows("select from plants where name = 'x'") == []
    absent = maas(stack, "load", "/no/such/file", "--table", "plants")
    assert absent.stderr == "maas: FILE: cannot read /no/such/file: No such file or directory\n"
    erased = maas(stack, "erase", str(user), "--yes")
    assert erased.stdout.count("1200") == 1


def test_secrets(stack: Stack, user: UUID) -> None:
    """A value is read from standard input or a variable; no command prints it, no export holds it."""
    words = ("secrets", "set", "mail_token", "--user", str(user))
    assert typed(stack, SECRET + "\n", *words).stdout == "stored\n"
    replaced = maas(stack, *words, "--env", "MAIL", MAIL=SECRET + "4")
    assert replaced.stdout.startswith("replaced"), replaced.stderr
    assert stack.rows("select value from user_secrets where user_id = %s", user) == [{"value": SECRET + "4"}]
    missing = maas(stack, *words, "--env", "NO_SUCH_VARIABLE")
    assert missing.returncode == 1 and "the environment variable 'NO_SUCH_VARIABLE'" in missing.stderr
    short = typed(stack, "short\n", *words)
    assert short.returncode == 1 and short.stderr.startswith("maas: value: 8 to 8000 printable ASCII characters")
    listed = maas(stack, "secrets", "list", "--user", str(user))
    assert "mail_token" in listed.stdout
    exported = maas(stack, "export", str(user))
    trace = "".join(str(row) for row in stack.rows("select * from audit where user_id = %s", user))
    for text in (listed.stdout, exported.stdout, exported.stderr, trace, stack.log()):
        assert SECRET not in text
    assert maas(stack, "secrets", "delete", "mail_token", "--user", str(user)).stdout == "deleted\n"
    gone = maas(stack, "secrets", "delete", "mail_token", "--user", str(user))
    assert gone.returncode == 1 and "has no secret 'mail_token'" in gone.stderr
    assert maas(stack, "secrets", "delete", "mail_token", "--user", str(uuid4())).returncode == 1


def test_a_killed_load_is_run_again(stack: Stack, user: UUID) -> None:
    """Whole batches stay; the same lines from the start add the rest."""
    stack.rows("create table maas.seeds (id int primary key, user_id uuid not null)")
    stack.rows("insert into maas.loadable_tables (name, columns) values ('seeds', '{id}')")
    text = "".join(f'{{"id": {n}}}\n' for n in range(900))
    words = ("load", "-", "--table", "seeds", "--user", str(user))
    process = subprocess.Popen(
        [str(MAAS), *words],
        env={"DATABASE_URL": stack.dsn, "PATH": "/usr/bin:/bin"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()
    poll(lambda: stack.rows("select from seeds"), 30, "the first batch is there")
    process.kill()
    process.wait()
    process.stdin.close()
    assert stack.rows("select count(*) from seeds") == [{"count": 500}]
    again = typed(stack, text, *words)
    assert "seeds: 400 rows added, 0 changed, 500 unchanged" in again.stdout, again.stderr
