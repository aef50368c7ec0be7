"""The HTTP API.

`app` builds the ASGI application from the table in `routes`. A request passes `middleware`, `auth.authorize` and one
handler: `runs`, `trace`, `memories`, `users`, `conversations`, `actions`, `attachments`, `operations` or
`openai.completions`. Handlers share the `state` of the process; `errors` turns exceptions into responses.
"""
