#!/usr/bin/env bash
# Print the directory that holds the oldest PySpark which Muntin supports, to be put on PYTHONPATH before the virtual
# environment's own: all other packages stay those. Fetched once (430 MB) into the user's cache.
# Usage: tools/oldest_spark.sh [VIRTUAL ENVIRONMENT]
set -euo pipefail

version=4.0.0
venv=${1:-.venv}
place=${XDG_CACHE_HOME:-$HOME/.cache}/muntin/pyspark-$version

if [ ! -d "$place" ]; then
    echo "muntin: fetching PySpark $version into $place: once, about a minute" >&2
    mkdir -p "$(dirname "$place")"
    part=$(mktemp -d "$place.XXXXXX")
    trap 'rm -rf "$part"' EXIT
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$part" "pyspark==$version" >&2
    chmod 755 "$part"
    mv -T "$part" "$place"
fi
echo "$place"
