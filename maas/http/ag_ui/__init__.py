"""/v1/ag-ui: assistants as agents of the Agent-User Interaction Protocol 1.0, with memory.

| file       | is about                                                      |
|------------|---------------------------------------------------------------|
| `schemas`  | the request                                                   |
| `resume`   | the answers to interrupts: decisions on actions               |
| `events`   | the events of one run of the protocol                         |
| `agent`    | the route, and the stream of its events                       |
"""
