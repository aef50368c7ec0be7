"""Store a conversation of your own application, then fetch what your own model should know before it answers."""

from __future__ import annotations

from maas import MaaS

USER = "ben@examples"

with MaaS() as maas:
    maas.add(
        [
            {"role": "user", "content": "I am a vegetarian and allergic to nuts."},
            {"role": "assistant", "content": "I shall keep that in mind."},
        ],
        user_id=USER,
    )
    question = "What should the cook know that I am allergic to?"
    print("found:", maas.search(question, user_id=USER, limit=1)["results"][0]["memory"])
    known = maas.context(question, user_id=USER, max_tokens=500)
    for message in known.to_openai():  # or known.to_anthropic()
        print(f"{message['role']}, {known.tokens} tokens: {message['content']}")
