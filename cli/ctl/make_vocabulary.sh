#!/bin/sh
# make_vocabulary.sh SOURCE_FOLDER: prints vocabulary.c, the words of fabricd (plain_words.h): those in the strings
# of its sources, in the table of events, in the API, and in vocabulary.txt, which has words of other programs.
set -eu
cd "$1"
export LC_ALL=C
examples='alice|dgx' # names in the examples of messages
{
    find fabricd libfabmgr -name '*.c' -exec cat {} + | grep -v '^#include' | grep -o '"[^"]*"' |
        sed 's/\\[a-z]/ /g; s/%[-+ #0-9.*l]*[a-zA-Z]/ /g'
    sed 's,//.*,,' proto/fabric/v1/*.proto
    cat fabricd/base/events.def cli/ctl/vocabulary.txt
} | tr -c 'A-Za-z0-9' '\n' | tr '[:upper:]' '[:lower:]' | grep '[a-z]' | grep .. | grep -vxE "$examples" | sort -u | awk '
    BEGIN {
        print "/* Made by make_vocabulary.sh. */\n#include \"cli/ctl/plain_words.h\"\n"
        print "const char *const vocabulary[] = {"
    }
    { printf "    \"%s\",\n", $0 }
    END { print "};\nconst size_t vocabulary_count = sizeof vocabulary / sizeof vocabulary[0];" }'
