# Sourced by up and test, from the repository's root: makes .venv, and installs only when a pyproject has changed.

say() {
    printf '%s\n' "$*"
}

refuse() {
    printf '%s\n' "$*" >&2
    exit 1
}

# Print the first Python on this machine that is new enough and can make virtual environments.
find_python() {
    found=
    for candidate in ${ROUNDWATCH_PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3}; do
        command -v "$candidate" >/dev/null 2>&1 || continue
        found=$candidate
        "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null || continue
        new_enough=$candidate
        "$candidate" -c 'import venv, ensurepip' 2>/dev/null || continue
        printf '%s' "$candidate"
        return
    done
    [ -n "$found" ] || refuse "Roundwatch needs Python 3.11 to 3.14, and this machine has none."
    [ -n "${new_enough:-}" ] ||
        refuse "Roundwatch needs Python 3.11 to 3.14, but $found is $("$found" -c 'import platform; print(platform.python_version())')."
    refuse "$new_enough cannot make virtual environments: install its venv module (on Debian and Ubuntu: apt install python3-venv)."
}

# Print what the installation depends on, as one short line.
fingerprint() {
    cat pyproject.toml agents/pyproject.toml | cksum
}

# Print the server's requirements and those of the given extras, one a line.
requirements() {
    .venv/bin/python - "$@" <<'PYTHON'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
print(*project["dependencies"], sep="\n")
for extra in sys.argv[1:]:
    print(*project["optional-dependencies"][extra], sep="\n")
PYTHON
}

# Make .venv hold the server's dependencies, the agent package and the given extras.
prepare_environment() {
    if ! .venv/bin/python -c '' 2>/dev/null; then
        python=$(find_python) || exit 1
        say "making .venv with $python"
        rm -rf .venv
        "$python" -m venv .venv || refuse "$python could not make a virtual environment in $(pwd)/.venv."
    fi
    now=$(fingerprint)
    missing=
    for part in server "$@"; do
        [ "$(cat ".venv/installed-$part" 2>/dev/null)" = "$now" ] || missing="$missing $part"
    done
    [ -n "$missing" ] || return 0
    say "installing packages for:$missing (a minute or two the first time)"
    requirements "$@" >.venv/requirements.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement .venv/requirements.txt \
        --editable ./agents || refuse "Installing the packages failed; pip's reason stands above."
    for part in $missing; do
        printf '%s' "$now" >".venv/installed-$part"
    done
}
