#!/usr/bin/env bash
# Sends one chat request through the gate. Needs curl, and python3 to quote the text as JSON.
#
#   cargo run -p leafgate -- run --upstream echo:          # in another terminal
#   examples/clients/curl.sh "My card is 4539 5787 6362 1486"
#
# With `--upstream https://api.openai.com` and OPENAI_API_KEY set, the same script talks to the real endpoint.
set -euo pipefail

gate="${LEAFGATE_URL:-http://127.0.0.1:4141}"
text="${1:-Say hello.}"
model="${MODEL:-gpt-4.1-mini}"

quote() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$1"; }

curl --silent --show-error --include "$gate/v1/chat/completions" \
  --header "content-type: application/json" \
  --header "authorization: Bearer ${OPENAI_API_KEY:-none}" \
  --data "{\"model\": $(quote "$model"), \"messages\": [{\"role\": \"user\", \"content\": $(quote "$text")}]}"
echo
