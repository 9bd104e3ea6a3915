#!/usr/bin/env bash
# Counts the instructions of each line of instructions.txt under callgrind, and fails where one takes more than a tenth more than is written there.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=$(cargo bench --all-features --bench instructions --no-run --message-format=json |
  python3 -c 'import json,sys; print([m["executable"] for m in map(json.loads, sys.stdin) if m.get("executable") and m["target"]["name"] == "instructions"][-1])')

count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$binary" "$1" "$2" 2>&1 | sed -n 's/^==[0-9]*== Collected : //p'
}

failed=0
printf '%-40s %12s %12s\n' 'one run of' instructions 'at most'
while IFS=$'\t' read -r limit case; do
  few=$(count "$case" 100)
  many=$(count "$case" 300)
  each=$(((many - few) / 200))
  most=$((limit * 11 / 10))
  printf '%-40s %12d %12d\n' "$case" "$each" "$most"
  if [ "$each" -le 0 ] || [ "$each" -gt "$most" ]; then failed=1; fi
done < benches/instructions.txt
exit "$failed"
