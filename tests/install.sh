#!/bin/sh
# Installs what some tests need and Python's lock files cannot hold: packages of npm, and Chromium where root may.
# What cannot be had is said; the tests that need it are then skipped.
set -eu
cd "$(dirname "$0")/.."

node_is_new='const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 12) || (a == 20 && b >= 19) ? 0 : 1)'
if node -e "$node_is_new" 2>/dev/null && command -v npm >/dev/null; then
  for folder in tests/contract ui; do
    stamp=$folder/node_modules/.installed
    if [ ! -e "$stamp" ] || [ "$folder/package-lock.json" -nt "$stamp" ]; then
      echo "Installing the packages of $folder into $folder/node_modules"
      (cd "$folder" && npm ci --loglevel=error --no-audit --no-fund >/dev/null) && touch "$stamp"
    fi
  done
else
  echo "Skipped: the tests that talk to protocol servers (tests/contract); they need Node 20.19 or newer with npm"
fi

find_chromium() {
  for name in chromium-headless-shell chromium chromium-browser google-chrome-stable google-chrome; do
    command -v "$name" && return
  done
  return 1
}
if ! find_chromium >/dev/null && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Chromium"
  apt_install() { DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"; }
  { apt-get -qq update && { apt_install chromium-headless-shell || apt_install chromium; }; } >/dev/null 2>&1 || true
fi
find_chromium >/dev/null || echo "Skipped: the tests in a browser (tests/browser); they need Chromium (apt install chromium)"
