#!/usr/bin/env bash
# Write requirements.lock: the exact versions in the virtual environment, without the package itself.
set -euo pipefail

venv=${1:-.venv}
{
    echo "# Exact versions for development, tests and benchmarks; pyproject.toml has the ranges that users get."
    echo "# Written by 'make lock'."
    "$venv/bin/python" -m pip freeze --all --exclude-editable --exclude pip --exclude muntin
} >requirements.lock
