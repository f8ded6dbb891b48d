# Wherry: new minimal Debian and Ubuntu systems for tests; other scripts source this file
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The systems stay in $WHERRY_ROOTS (default: .build-roots) for the next test. Creating one takes two minutes. Needs root and
# debootstrap, and uses the network.
wherry_roots=${WHERRY_ROOTS:-$PWD/.build-roots}

# debian_root SUITE: creates a minimal system with Python, unless it exists. Tests that run at the same time wait for it.
debian_root() {
    mkdir -p "$wherry_roots"
    (
        flock 9
        create_root "$1"
    ) 9>"$wherry_roots/$1.lock"
}

create_root() {
    local suite=$1 root=$wherry_roots/$1 mirror=http://deb.debian.org/debian script=sid include=python3-venv options=()
    case $suite in
    jammy | noble | resolute)
        mirror=http://archive.ubuntu.com/ubuntu script=gutsy
        # Debian 13 has the keys of Ubuntu.
        local keys=$wherry_roots/trixie/usr/share/keyrings/ubuntu-archive-keyring.gpg
        [ -e "$keys" ] || debian_root trixie || return
        options=("--components=main,universe" --keyring="$keys")
        ;;
    trixie) include+=,ubuntu-keyring ;;
    esac
    if [ -e "$root" ]; then return; fi
    if ! command -v debootstrap >/dev/null || [ "$(id -u)" -ne 0 ]; then
        echo "${0##*/}: creating a $suite system needs root and debootstrap. Run as root: apt install debootstrap" >&2
        return 1
    fi
    rm -rf --one-file-system "$root.new"
    timeout 900 debootstrap --variant=minbase --include=$include "${options[@]}" "$suite" "$root.new" $mirror $script \
        >"$root.log" 2>&1 || { tail "$root.log" >&2; return 1; }
    mv "$root.new" "$root"
}

# with_root SUITE FUNCTION [ARGUMENT...]: calls a function of the script in new mount and process namespaces, with the fresh
# system as the current folder. Changes to the system are kept in memory. The function gets the functions of the script, but
# only exported variables. Its processes end with it; those that take more than $root_timeout s (default: 600) are killed.
with_root() {
    local suite=$1 place status=0
    debian_root "$suite" || return
    place=$(mktemp -d)
    # shellcheck disable=SC2016 # the new shell expands them
    timeout --kill-after 10 "${root_timeout:-600}" unshare --mount --pid --fork --kill-child bash -c \
        "set -euo pipefail; $(declare -f)"'; enter_root "$1" "$2"; shift 2; "$@"' \
        bash "$wherry_roots/$suite" "$place" "${@:2}" || status=$?
    rmdir "$place"
    return $status
}

# enter_root ROOT FOLDER: mounts a copy of the system, in a new mount namespace.
enter_root() {
    mount -t tmpfs tmpfs "$2"
    mkdir "$2"/{new,work,system}
    mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/new,workdir=$2/work" "$2/system"
    cd "$2/system" || return
    mount -t proc proc proc
    mkdir test
}

# in_root COMMAND...: runs a command in the system, without the variables of the caller.
in_root() {
    chroot . env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" "$@"
}

# install_in_root PACKAGE...: installs packages or .deb files into the system.
install_in_root() {
    {
        in_root apt-get update -q
        in_root apt-get install -q -y --no-install-recommends "$@"
    } >>test/apt.log 2>&1 || { tail -40 test/apt.log >&2; return 1; }
}

# add_swift README: makes this machine's Swift available in the system, and installs the packages that Swift and this README
# need. Programs of the system find Swift in with_swift.
add_swift() {
    local packages system=(binutils ca-certificates g++ libc6-dev libedit2 libncurses6 libsqlite3-0 libxml2 tzdata)
    mkdir -p opt/swift/usr
    mount --bind -o ro "$(dirname "$(dirname "$(realpath "$(command -v swiftc)")")")" opt/swift/usr
    packages=$(sed -nE '/^`?apt install /{s/^`?apt install ([^`]*)`.*/\1/p}' "$1" | head -1)
    # shellcheck disable=SC2086 # a list of packages
    install_in_root "${system[@]}" ${packages:?$1 names no packages}
}

# with_swift COMMAND: runs a shell command in the system, with Swift in PATH.
with_swift() {
    in_root sh -c "PATH=\$PATH:/opt/swift/usr/bin; $1" >>test/build.log 2>&1 || { tail -50 test/build.log >&2; return 1; }
}

# serve_note: starts a server on a free port, and sets url to a page that contains "hello".
serve_note() {
    local line
    mkdir -p test/www
    echo hello >test/www/note
    coproc SERVER { exec python3 -u -m http.server --bind 127.0.0.1 --directory test/www 0 2>&1; }
    read -r -t 60 line <&"${SERVER[0]}" # Serving HTTP on 127.0.0.1 port N ...
    # shellcheck disable=SC2034 # for the caller
    url=http://127.0.0.1:$(sed 's/.* port \([0-9]*\) .*/\1/' <<<"$line")/note
}

# write_program: writes test/get.c, which prints the response of a URL.
write_program() {
    cat >test/get.c <<'C'
#include <stdio.h>
#include <wherry.h>
int main(int count, char **arguments) {
  wherry_response *response = NULL;
  if (count < 2 || wherry_get(arguments[1], &response) != WHERRY_OK) return 1;
  size_t size = 0;
  const uint8_t *body = wherry_response_body(response, &size);
  fwrite(body, 1, size, stdout);
  return wherry_response_free(response) != WHERRY_OK;
}
C
}
