"""What the engine is compared with: one module a peer, each run as a process of its own over an empty database.

`python -m bench.peers.NAME DSN --runs N --concurrency C [--users U]` makes its own tables, enqueues N runs that do
nothing, works them off, counts in the database that all are done, and prints one line of JSON. Each has its documented
settings, and a database that was analyzed when all was enqueued.
"""
