"""Prints the OpenAPI document of the server, from which openapi.mjs makes the types of the web interface."""

import json

from maas.http.openapi import describe
from maas.http.routes import all_routes

print(json.dumps(describe(all_routes(), version="", is_authenticated=True)))
