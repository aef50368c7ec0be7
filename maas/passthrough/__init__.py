"""Pass-through models: a client calls a provider's model by name, and MaaS adds memory on the way.

| file        | is about                                                                    |
|-------------|-----------------------------------------------------------------------------|
| `models`    | which models clients may call, and where each of them is                    |
| `dialogue`  | the messages of a request: its question, its key, and memory put before it  |
| `memory`    | the block of memory for a question                                          |
| `replies`   | what a provider answered, whole or in chunks                                |
| `calls`     | one call of a provider, and the clients that wait for it                    |
| `exchanges` | what is stored of a call: its cost, and the exchange if one has ended       |
"""
