#!/usr/bin/env bash
# Print the home of a Java 17 or newer: JAVA_HOME's, else the PATH's. Without one, install it where that is possible
# (Debian or Ubuntu, as root), else stop with the command to type. Only the path goes to standard output.
set -euo pipefail

# The major version of the java that $1 names, or nothing: 'openjdk version "17.0.15"' gives 17, "1.8.0" gives 1.
major() {
    "$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

usable() {
    [ -x "$1" ] && [ "$(major "$1")" -ge 17 ] 2>/dev/null
}

# The home that a java belongs to, as it says itself (the one on the PATH is often a link or a wrapper).
home_of() {
    "$1" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java\.home = //p'
}

find_java() {
    local java
    if [ -n "${JAVA_HOME:-}" ] && usable "$JAVA_HOME/bin/java"; then
        echo "$JAVA_HOME"
    elif java=$(command -v java) && usable "$java"; then
        home_of "$java"
    else
        return 1
    fi
}

if find_java; then
    exit 0
fi

case "$(uname -s)" in
    Linux)
        if command -v apt-get >/dev/null; then
            if [ "$(id -u)" = 0 ]; then
                echo "muntin: no Java 17 or newer found; installing openjdk-17-jre-headless" >&2
                apt-get update -qq >&2
                # A newer Debian has no 17: its default is newer still, which serves as well.
                for package in openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; do
                    if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" >&2; then
                        break
                    fi
                done
                hash -r
                unset JAVA_HOME
                if find_java; then
                    exit 0
                fi
                # Another, older java may come first on the PATH.
                for java in /usr/lib/jvm/*/bin/java; do
                    if usable "$java"; then
                        home_of "$java"
                        exit 0
                    fi
                done
            fi
            advice="sudo apt-get install -y openjdk-17-jre-headless"
        elif command -v dnf >/dev/null; then
            advice="sudo dnf install -y java-17-openjdk-headless"
        else
            advice="your package manager's install command for a Java 17 runtime (OpenJDK)"
        fi
        ;;
    Darwin) advice='brew install openjdk@17 && export JAVA_HOME="$(brew --prefix openjdk@17)"' ;;
    *) advice="the installer of any OpenJDK 17, then set JAVA_HOME to where it is" ;;
esac
echo "muntin: Spark needs Java 17 or newer, and neither JAVA_HOME nor the PATH has one. Type:" >&2
echo "    $advice" >&2
exit 1
