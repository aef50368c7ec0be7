"""JSON schemas in the words that every provider's function calling knows: no references, no unions with null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.errors import MaasError

Schema = Mapping[str, Any]
NODES = 2000
_KEPT = {
    "object": (),
    "array": ("minItems", "maxItems"),
    "string": ("minLength", "maxLength", "pattern"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "boolean": (),
}


def plain(schema: Schema) -> dict[str, Any]:
    """The same arguments without what some provider refuses; what cannot be kept as a rule is said in a description.

    The outermost object always has `properties` and `required`. Raises MaasError('wrong_tool') for recursion, tuples,
    values of no type, and more than NODES schemas within each other: references multiply.
    """
    top = _plain(schema, _Definitions(schema.get("$defs") or schema.get("definitions") or {}), "arguments", ())
    if top.get("type") != "object":
        raise wrong("arguments: must be an object")
    return {"type": "object", "properties": {}, "required": []} | _without(top, "description")


class _Definitions(dict[str, Any]):
    left = NODES


def wrong(message: str) -> MaasError:
    return MaasError("wrong_tool", message)


def _plain(node: Schema, definitions: _Definitions, path: str, opened: tuple[str, ...]) -> dict[str, Any]:
    definitions.left -= 1
    if definitions.left < 0:
        raise wrong(f"{path}: more than {NODES} schemas in all")
    if not isinstance(node, Mapping):
        raise wrong(f"{path}: must be a schema, not {node!r}")
    if "$ref" in node:
        name = str(node["$ref"]).rpartition("/")[2]
        if name in opened or name not in definitions:
            raise wrong(f"{path}: {name} refers to itself or to nothing; say what it holds in full")
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
    kinds = [kind for kind in _listed(node.get("type")) if kind != "null"]
    if len(kinds) != 1 or kinds[0] not in _KEPT or "prefixItems" in node:
        raise wrong(f"{path}: must be of one type: {', '.join(_KEPT)}")
    kind = kinds[0]
    found: dict[str, Any] = {"type": kind} | {word: node[word] for word in _KEPT[kind] if word in node}
    choices = [one for one in (node.get("enum") or _listed(node.get("const"))) if one is not None]
    if choices and kind == "string":
        found["enum"] = choices
    if node.get("format") == "date-time":
        found["format"] = "date-time"
    if description := _description(node, [] if kind == "string" else choices):
        found["description"] = description
    if kind == "array":
        found["items"] = _plain(node.get("items") or {}, definitions, f"{path}[]", opened)
    if kind == "object" and "properties" in node:
        found["properties"] = {
            name: _plain(one, definitions, f"{path}.{name}", opened) for name, one in node["properties"].items()
        }
        found["required"] = [name for name in node.get("required", ()) if name in found["properties"]]
    return found


def _description(node: Schema, choices: list[Any]) -> str:
    """What is said of a value, and the rules that not every provider takes as such."""
    said = [str(node.get("description") or "").strip()]
    if choices:
        said.append(f"One of {', '.join(map(str, choices))}.")
    if node.get("format", "date-time") != "date-time":
        said.append(f"Format: {node['format']}.")
    for word, meaning in (("exclusiveMinimum", "More than"), ("exclusiveMaximum", "Less than")):
        if word in node:
            said.append(f"{meaning} {node[word]}.")
    return " ".join(filter(None, said))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [] if value is None else [value]


def _without(node: Schema, word: str) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key != word}
