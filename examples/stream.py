"""Print an answer while it is written, and what happens in between."""

from __future__ import annotations

from maas import MaaS

USER = "eve@examples"

with MaaS() as maas:
    maas.ask("The garage opens at seven.", user_id=USER)
    is_streamed = False
    for event in maas.stream("When does the garage open?", user_id=USER):
        if event.type == "status":
            print(event.data["status"])
        print(event.text, end="", flush=True)
        is_streamed |= bool(event.text)
    print("" if is_streamed else event.data["final_answer"])  # the built-in model gives its answer whole
