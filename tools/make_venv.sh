#!/usr/bin/env bash
# Make .venv with the exact versions of requirements.lock and the package itself, editable.
# Usage: tools/make_venv.sh [DIRECTORY]      (from the root of the repository; PYTHON names the interpreter to use)
set -euo pipefail

venv=${1:-.venv}

# The first interpreter that runs and is 3.11 or newer; a name may exist and still not run (version managers' shims).
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3 /usr/bin/python3}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    echo "muntin: no Python 3.11 or newer found (looked for ${PYTHON:-python3.11, python3.12, python3.13, python3})." >&2
    echo "Install one, or name it: make venv PYTHON=/path/to/python3.11" >&2
    return 1
}

python=$(find_python)

# Debian ships Python without the parts that make virtual environments.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "muntin: installing $package" >&2
        apt-get update -qq >&2
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" >&2
    else
        echo "muntin: $python cannot make virtual environments. Type: sudo apt-get install -y $package" >&2
        exit 1
    fi
fi

if ! "$venv/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "muntin: making $venv with $("$python" --version)" >&2
    "$python" -m venv --clear "$venv"
fi
# PySpark is half of what is unpacked: beside all others. Python compiles what is imported, when it is.
install=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile)
"${install[@]}" --no-deps -r <(grep '^pyspark==' requirements.lock) &
pyspark=$!
"${install[@]}" -r <(grep -v '^pyspark==' requirements.lock)
wait "$pyspark"
# The lock has the build tool too, so nothing unpinned is fetched for the editable install.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
