# Installs the packages that the project needs, and builds its parts. The scripts source this file.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

packages=(
  g++ cmake ninja-build ccache pkg-config
  libboost1.81-dev libboost-json1.81-dev libsimdjson-dev libfmt-dev libspdlog-dev libsqlite3-dev
  libssl-dev openssl libre2-dev libtomlplusplus-dev libcli11-dev libconcurrentqueue-dev catch2
  libeigen3-dev libyaml-cpp-dev libprotobuf-dev protobuf-compiler zlib1g-dev
  python3 python3-venv
)

# say TEXT: prints it with the minutes and seconds since the script started.
say() { printf '\033[1m[%2d:%02d] %s\033[0m\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*" >&2; }
die() { printf '%s\n' "$*" >&2; exit 1; }

# begin NAME COMMAND...: runs a command in the background. finish NAME: waits for it; if it failed, prints its output
# and ends the script. Use it for set-up that waits for the network: a build needs the processor meanwhile.
declare -A begun=()
begin() {
  local name=$1
  shift
  "$@" >"$root/build/$name.log" 2>&1 &
  begun[$name]=$!
}
finish() {
  wait "${begun[$1]}" || { cat "$root/build/$1.log" >&2; die "failed in the background: $1"; }
}

# --help prints the comment at the top of the script, before anything is installed or built.
case ${1:-} in -h | --help) awk 'NR > 1 { if (!sub(/^# ?/, "")) exit; print }' "$0"; exit ;; esac

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep 'ok installed' >/dev/null || printf '%s\n' "$package"
  done
}

install_missing() {
  local missing sudo=
  command -v dpkg-query >/dev/null ||
    die "This script sets up Debian 12. On other systems install these yourself: ${packages[*]}"
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "Missing: ${missing[*]}. Install them as root, then call this again."
    sudo=sudo
  fi
  say "Installing: ${missing[*]}"
  # Scripts that CI runs after each other install different packages; the lists stay fresh for all of them.
  if [ -z "$(find "$root/build/apt-updated" -mmin -60 2>/dev/null)" ]; then
    $sudo apt-get update -qq >&2
    touch "$root/build/apt-updated"
  fi
  # --no-remove: the headers of Boost 1.81 conflict with those of 1.74. Do not remove packages without being asked.
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends --no-remove "${missing[@]}" >&2 ||
    die "Could not install: ${missing[*]}. If another Boost is installed (libboost1.74-dev), remove it first."
}

# Installs Debian's Node with npm, unless there is one of version 18 or later already.
node_if_missing() {
  local version
  version=$(node --version 2>/dev/null | sed 's/^v//; s/\..*//') || true
  if [ "${version:-0}" -ge 18 ] && command -v npm >/dev/null; then return; fi
  packages+=(nodejs npm)
}

# The npm 9 of Debian 12 fails on a lock file whose overrides name another package, such as the dashboard's. npm 11
# fails on a lock file that lacks the optional packages of other platforms; for such a file, max_npm=10 selects an older
# npm.
current_npm() {
  local version
  version=$(npm --version)
  version=${version%%.*}
  if [ "$version" -ge 10 ] && [ "$version" -le "${max_npm:-$version}" ]; then
    npm "$@"
  else
    flock "$root/build/npx.lock" npx --yes npm@10.9.4 "$@"  # two at once would both write npx's cache
  fi
}

# npm_packages FOLDER: installs the versions of its lock file, unless they are installed already.
npm_packages() {
  local stamp=$1/node_modules/.installed
  cmp -s "$stamp" "$1/package-lock.json" && return
  say "Setting up npm packages: ${1#"$root"/}"
  current_npm --prefix "$1" ci --loglevel=error --no-audit --no-fund >&2
  cp "$1/package-lock.json" "$stamp"
}

# Builds the dashboard's files, which the next build embeds in digd, if their sources are newer.
build_dashboard() {
  local built=$root/dashboard/dist/index.html
  local sources=("$root"/dashboard/{src,public,index.html,vite.config.ts,tsconfig.json,package-lock.json})
  npm_packages "$root/dashboard"
  [ -f "$built" ] && [ -z "$(find "${sources[@]}" -newer "$built" -print -quit)" ] && return
  say "Building the dashboard"
  npm --prefix "$root/dashboard" run --silent build >&2
}

# build PRESET [-DNAME=VALUE...] [TARGET...]: builds these targets, or all. -DDIGD_TESTS=OFF leaves out the tests.
build() {
  local preset=$1 argument arguments=(-DDIGD_TESTS=ON) targets=()
  shift
  for argument in "$@"; do
    case $argument in -*) arguments+=("$argument") ;; *) targets+=("$argument") ;; esac
  done
  [ ${#targets[@]} -eq 0 ] || targets=(--target "${targets[@]}")
  say "Building ($preset)"
  (cd "$root" && cmake --preset "$preset" "${arguments[@]}" >"$root/build/cmake-$preset.log" 2>&1) ||
    { cat "$root/build/cmake-$preset.log" >&2; die "cmake could not set up the build"; }
  (cd "$root" && cmake --build --preset "$preset" -j "$(nproc)" "${targets[@]}") >&2  # more at once take longer
}

# Creates a Python environment in the build folder with the pinned packages of the tests.
python_environment() {
  local stamp=$root/build/venv/installed
  local wanted=("$root"/{tests,clients}/requirements.txt "$root/clients/python/pyproject.toml")
  [ -f "$stamp" ] && cat "${wanted[@]}" | cmp -s "$stamp" - && return
  say "Setting up Python for the tests"
  python3 -m venv "$root/build/venv"
  # --no-compile: Python compiles the modules that the tests import, a small part of all.
  "$root/build/venv/bin/pip" install --no-compile --quiet --disable-pip-version-check \
    -r "${wanted[0]}" -r "${wanted[1]}" -e "$root/clients/python" >&2
  cat "${wanted[@]}" >"$stamp"
}

# Builds the TypeScript client and installs the packages of its tests.
build_typescript_client() {
  npm_packages "$root/clients/typescript"
  npm --prefix "$root/clients/typescript" run --silent build >&2
}

# Installs OpenTelemetry's JavaScript exporter in the build folder, for tests/daemon/otlp_test.py.
otlp_js_environment() {
  mkdir -p "$root/build/otlp-js"
  cp "$root"/tests/daemon/otlp_js/* "$root/build/otlp-js/"
  npm_packages "$root/build/otlp-js"
}

# Installs the real Codex in the build folder, for tests/hooks/codex_test.py.
codex_environment() {
  mkdir -p "$root/build/codex"
  cp "$root"/tests/hooks/codex/* "$root/build/codex/"
  max_npm=10 npm_packages "$root/build/codex"
}

# Installs the real Gemini CLI and opencode in the build folder, for tests/hooks.
gemini_opencode_environment() {
  local folder=$root/build/gemini-opencode
  mkdir -p "$folder"
  cp "$root"/tests/hooks/gemini_opencode/* "$folder/"
  max_npm=10 npm_packages "$folder"
  rm -rf "$folder"/node_modules/opencode-linux-*  # the installed program is a copy of a file in there
}

# Installs the real LiteLLM proxy in the build folder, for tests/hooks/litellm_test.py. Its versions of other packages
# are not ours, so it has an environment of its own.
litellm_environment() {
  local folder=$root/build/litellm wanted=$root/tests/hooks/litellm/requirements.txt
  cmp -s "$folder/installed" "$wanted" && return
  say "Setting up the LiteLLM proxy"
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$wanted" >&2
  cp "$wanted" "$folder/installed"
}

mkdir -p "$root/build"
