"""The JSON schema of a tool's arguments, as the function calling of every provider accepts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.errors import MaasError

MAX_SCHEMA_NODES = 2000
Schema = Mapping[str, Any]
_KEYWORDS = {
    "object": (),
    "array": ("minItems", "maxItems"),
    "string": ("minLength", "maxLength", "pattern"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "boolean": (),
}


def wrong_tool(message: str) -> MaasError:
    return MaasError("wrong_tool", message)


def plain_schema(schema: Schema) -> dict[str, Any]:
    """Rewrite a JSON schema to what function calling of every provider accepts: no references, no unions with null.

    A rule that some provider refuses moves into the description. The outermost object always has `properties` and
    `required`. Raises MaasError('wrong_tool') for recursion, tuples, values without a type, and more than
    MAX_SCHEMA_NODES schemas once references are expanded.
    """
    top = _plain(schema, _Definitions(schema.get("$defs") or schema.get("definitions") or {}), "arguments", ())
    if top.get("type") != "object":
        raise wrong_tool("arguments: must be an object")
    return {"type": "object", "properties": {}, "required": []} | _without(top, "description")


class _Definitions(dict[str, Any]):
    """The schemas that references name, and how many more nodes the result may have."""

    nodes_left = MAX_SCHEMA_NODES


def _plain(node: Schema, definitions: _Definitions, path: str, opened: tuple[str, ...]) -> dict[str, Any]:
    """`opened` names the references that this node is inside of."""
    definitions.nodes_left -= 1
    if definitions.nodes_left < 0:
        raise wrong_tool(f"{path}: more than {MAX_SCHEMA_NODES} schemas in all")
    if not isinstance(node, Mapping):
        raise wrong_tool(f"{path}: must be a schema, not {node!r}")
    if "$ref" in node:
        name = str(node["$ref"]).rpartition("/")[2]
        if name in opened or name not in definitions:
            raise wrong_tool(f"{path}: {name} refers to itself or to nothing; say what it holds in full")
        return _plain({**definitions[name], **_without(node, "$ref")}, definitions, path, (*opened, name))
    if len(node.get("allOf", ())) == 1:
        return _plain({**node["allOf"][0], **_without(node, "allOf")}, definitions, path, opened)
    for union in ("anyOf", "oneOf"):
        branches = [branch for branch in node.get(union, ()) if branch.get("type") != "null"]
        if len(branches) == 1:
            return _plain({**branches[0], **_without(node, union)}, definitions, path, opened)
        if branches:
            described = {"description": node["description"]} if "description" in node else {}
            return {"anyOf": [_plain(branch, definitions, path, opened) for branch in branches]} | described
    return _typed(node, definitions, path, opened)


def _typed(node: Schema, definitions: _Definitions, path: str, opened: tuple[str, ...]) -> dict[str, Any]:
    kinds = [kind for kind in _as_list(node.get("type")) if kind != "null"]
    if len(kinds) != 1 or kinds[0] not in _KEYWORDS or "prefixItems" in node:
        raise wrong_tool(f"{path}: must be of one type: {', '.join(_KEYWORDS)}")
    kind = kinds[0]
    result: dict[str, Any] = {"type": kind} | {word: node[word] for word in _KEYWORDS[kind] if word in node}
    choices = [one for one in (node.get("enum") or _as_list(node.get("const"))) if one is not None]
    if choices and kind == "string":
        result["enum"] = choices
    if node.get("format") == "date-time":
        result["format"] = "date-time"
    if description := _description(node, [] if kind == "string" else choices):
        result["description"] = description
    if kind == "array":
        result["items"] = _plain(node.get("items") or {}, definitions, f"{path}[]", opened)
    if kind == "object" and "properties" in node:
        result["properties"] = {
            name: _plain(one, definitions, f"{path}.{name}", opened) for name, one in node["properties"].items()
        }
        result["required"] = [name for name in node.get("required", ()) if name in result["properties"]]
    return result


def _description(node: Schema, choices: list[Any]) -> str:
    """The node's description, followed by the rules that some provider refuses as schema keywords."""
    parts = [str(node.get("description") or "").strip()]
    if choices:
        parts.append(f"One of {', '.join(map(str, choices))}.")
    if node.get("format", "date-time") != "date-time":
        parts.append(f"Format: {node['format']}.")
    for word, meaning in (("exclusiveMinimum", "More than"), ("exclusiveMaximum", "Less than")):
        if word in node:
            parts.append(f"{meaning} {node[word]}.")
    return " ".join(filter(None, parts))


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [] if value is None else [value]


def _without(node: Schema, word: str) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key != word}
