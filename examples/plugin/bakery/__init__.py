"""The bakery: the assistant `clerk` writes down orders, and `maas orders` lists them."""

from maas.plugins import Command, Plugin

PLUGIN = Plugin(
    name="bakery",
    package=__name__,
    assistants={"clerk": "assistant:CLERK"},
    tools="assistant:make_tools",
    exports=("bakery_export",),
    commands=(Command("orders", "commands:list_orders", "List the orders of the bakery, newest first."),),
)
