#!/bin/sh
# Compares the types of the API with the server's, lints the JavaScript client, builds it anew and compares it with the
# files that are committed. Its tools are those of ui/.
set -eu
cd "$(dirname "$0")"
if [ ! -d ../../ui/node_modules ]; then
  echo "Skipped: the comparison of the JavaScript client with its source; it needs Node 20.19 or newer with npm"
  [ -z "${CI:-}" ] || exit 1
  exit 0
fi
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
sh types.sh "$out/schema.ts"
diff src/schema.ts "$out/schema.ts" || { echo "clients/typescript/src/schema.ts is not what the server says: run make ui" >&2; exit 1; }
npm run --silent lint
npm run --silent build -- --outDir "$out/dist"
diff -r dist "$out/dist" || { echo "clients/typescript/dist is not what src/ builds: run make ui" >&2; exit 1; }
echo "The JavaScript client is what clients/typescript/src builds"
