#!/usr/bin/env bash
# Wherry: the steps of the tutorial in the shell
# SPDX-License-Identifier: Apache-2.0
#
# usage: tutorial.sh BASE IMAGE FOLDER     with the test server at BASE, and wherry in PATH
set -u
base=$1 image=$2 folder=$3

# guide: begin get
wherry get "$base/echo" --param page=2
# guide: end get

# guide: begin errors
wherry get "$base/status/404?body=no+such+note" || echo "exit status $?"
wherry get http://127.0.0.1:1/ || echo "exit status $?"
# guide: end errors

# guide: begin client
wherry post "$base/echo" --json '{"text": "hello"}' --header 'X-App: tutorial' --timeout 5
wherry get "$base/faulty-echo?status_first=503" --retries 2
# guide: end client

# guide: begin cache
wherry get "$base/json" --cache 60 --json-output
wherry get "$base/json" --cache 60 --json-output # from_cache is true
# guide: end cache

# guide: begin upload
wherry upload "$base/upload-photo" "$image" --quality 0.5 --field album=Skye
# guide: end upload

# guide: begin download
digest=$(wherry get "$base/digest/20000000")
wherry download "$base/bytes/20000000?rate=10000000" -o "$folder/big.bin" --sha256 "$digest"
# guide: end download
