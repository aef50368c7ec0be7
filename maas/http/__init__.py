"""The HTTP API.

`app` builds the ASGI application from the table in `routes`. A request passes the middleware of `app`,
`authorize` and one handler: `runs`, `trace`, `memories`, `users`, `conversations`, `attachments`, `operations` or
`openai.completions`. Handlers share the `state` of the process; `errors` turns exceptions into responses.
"""
