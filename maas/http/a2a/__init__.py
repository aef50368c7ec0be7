"""/v1/a2a: assistants as agents of the Agent2Agent Protocol 1.0, where MAAS_A2A names them.

| file       | is about                                                     |
|------------|--------------------------------------------------------------|
| `schemas`  | requests: JSON-RPC, and the parameters of each method        |
| `errors`   | what can be wrong, by the codes of the protocol              |
| `messages` | messages: they begin a task, go on with it, decide           |
| `stream`   | the updates of a task                                        |
| `push`     | push notifications: where the updates of a task are sent     |
| `card`     | the card of an agent                                         |
| `rpc`      | the route of all methods                                     |
"""
