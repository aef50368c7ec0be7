#!/bin/sh
# Compares the types of the API with the server's, lints and tests the parts of the web interface, builds it anew and
# compares it with the files that are committed: they must be the same, byte for byte.
set -eu
cd "$(dirname "$0")"
if [ ! -d node_modules ]; then
  echo "Skipped: the tests of the web interface and its comparison with its source; they need Node 20.19 or newer with npm"
  [ -z "${CI:-}" ] || exit 1
  exit 0
fi
../.venv/bin/python openapi.py | node openapi.mjs node_modules/.schema.ts
diff src/api/schema.ts node_modules/.schema.ts || { echo "ui/src/api/schema.ts is not what the server says: run make ui" >&2; exit 1; }
npm run --silent check
npm run --silent test -- --reporter=dot
node_modules/.bin/vite build --outDir node_modules/.built --emptyOutDir --logLevel error
diff -r node_modules/.built ../maas/http/ui || { echo "maas/http/ui is not what ui/ builds: run make ui" >&2; exit 1; }
echo "The web interface is what ui/ builds"
