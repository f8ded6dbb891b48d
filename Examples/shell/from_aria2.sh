#!/usr/bin/env bash
# Wherry: aria2c commands, and the same with wherry
# SPDX-License-Identifier: Apache-2.0
#
# usage: from_aria2.sh BASE FOLDER SHA-256     with wherry in PATH
#
# BASE has large.bin, with this SHA-256, small.bin, and next.bin, but no missing.bin.
set -eu
base=$1 folder=$2 digest=$3
cd "$folder"

# guide: begin download
# aria2c -x 4 -s 4 --checksum=sha-256="$digest" "$base/large.bin"
wherry download "$base/large.bin" --segments 4 --sha256 "$digest"
# guide: end download

# guide: begin mirrors
# aria2c -o mirrored.bin --checksum=sha-256="$digest" "$base/missing.bin" "$base/large.bin"
wherry download "$base/missing.bin" -o mirrored.bin --sha256 "$digest" --mirror "$base/large.bin"
# guide: end mirrors

printf '%s\n' "$base/small.bin" "$base/next.bin" >list
# guide: begin list
# aria2c -i list -j 2 -d files --max-download-limit=1M
xargs wherry download -d files --create-dirs --max-active 2 --limit-rate 1M <list
# guide: end list

# guide: begin background
# aria2c -D --save-session=session "$base/large.bin"
job=$(wherry download "$base/large.bin" -o later.bin --background) # continues after logout
wherry jobs list
wherry jobs follow "$job" # any later shell can do this
wherry jobs clean
# guide: end background
