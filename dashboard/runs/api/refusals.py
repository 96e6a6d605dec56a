"""What the OpenAPI schema says beyond the routes' own shapes: above all which refusals a path may answer, and when."""

from typing import Any

from ninja.openapi.schema import OpenAPISchema

_SCHEMA = {
    "title": "Refusal",
    "description": "Why a request was refused; `field` is the parameter or field that it is about, if any.",
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "field"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "field": {"type": ["string", "null"]},
            },
        }
    },
}
_ALWAYS = {
    400: "The request is no sound HTTP, or its Host is not this server's.",
    401: "No token and no session, or one that is not valid (any more).",
    403: "The token lacks the scope, the person may only look, or a session's change carries no CSRF token.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
}
_CONFLICT = "What is there already does not allow it now; the message says what does."
_MISSING = "There is no such thing, or it is another team's."
_INVALID = "A parameter, cursor or body is not what it must be."


def documented(schema: OpenAPISchema) -> OpenAPISchema:
    """The schema with the refusals of every path in it, and what each does in its heading."""
    schema["components"]["schemas"]["Refusal"] = _SCHEMA
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            # Closed, an operation shows its summary alone; Ninja's repeats the function's name.
            operation["summary"] = operation.pop("description").removesuffix(".")
            told = dict(_ALWAYS)
            if "{" in path:
                told[404] = _MISSING
            if "requestBody" in operation or any(each["in"] == "query" for each in operation["parameters"]):
                told[422] = _INVALID
            if 409 in operation["responses"]:
                told[409] = _CONFLICT
            for parameter in operation["parameters"]:
                _without_null(parameter["schema"])
            operation["responses"] |= {status: _refusal(told[status]) for status in sorted(told)}
    return schema


def _without_null(schema: dict[str, Any]) -> None:
    """A parameter that is not asked for is left out: no query can say null."""
    ways = [way for way in schema.pop("anyOf", []) if way != {"type": "null"}]
    if ways:
        (way,) = ways
        schema |= way


def _refusal(when: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
    return {"description": when, "content": content}
