#!/bin/sh
# Writes the types of what the client calls into a file, from the OpenAPI document of the server: types.sh FILE,
# which is found from this folder.
set -eu
file=$1
cd "$(dirname "$0")"
../../.venv/bin/python ../../ui/openapi.py \
  | node ../../ui/openapi.mjs "$file" runs conversations attachments actions memories users facts context knowledge schedules
