"""Tell an assistant something, ask for it, and print the messages that the answer was made from."""

from __future__ import annotations

from maas import MaaS

USER = "ann@examples"  # any text of 1 to 200 characters, or a UUID

with MaaS() as maas:  # MAAS_URL and MAAS_API_KEY, or http://127.0.0.1:8000
    maas.ask("My boat is called Zephyr and lies in Bergen.", user_id=USER)
    answer = maas.ask("Where does my boat lie?", user_id=USER)
    print(answer.text)
    for source in answer.sources:
        print(f"made from {source['kind']}:", maas.get(source["id"])["memory"].splitlines()[0])
