"""Prints the OpenAPI document of the server, from which openapi.mjs makes the types of the web interface."""

import json

from maas.http.openapi import describe
from maas.http.routes import ROUTES

print(json.dumps(describe(ROUTES, version="", is_authenticated=True)))
