#!/bin/bash
# test_election_matrix.sh: six cases of election_matrix.py, chosen at random. TEST_SEED chooses the same ones again.
here=$(cd "$(dirname "$0")" && pwd)
for program in ibsim opensm sminfo ibnetdiscover dump_fts smpquery; do
    command -v "$program" >/dev/null || { echo "1..0 # SKIP $program is not installed"; exit 0; }
done
seed=${TEST_SEED:-$RANDOM}
echo "# TEST_SEED=$seed"
exec python3 "$here/election_matrix.py" --build "${BUILD_DIR:-$here/../../build}" --sample 6 --seed "$seed"
