#!/bin/sh
# help.sh: checks that the output of --help, the man pages and the bash completion agree. Prints TAP.
#
# Compares lists as sets of lines, such as "route whatif --fail". Prints lines that only one of two lists has.
set -u
top=${abs_top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
build=${abs_top_builddir:-$top}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
failed=0

# same NAME: passes if the lists $work/a and $work/b have the same lines, and are not empty.
same() {
    n=$((n + 1))
    sort -u "$work/a" >"$work/a.sorted"
    sort -u "$work/b" >"$work/b.sorted"
    if [ -s "$work/a" ] && cmp -s "$work/a.sorted" "$work/b.sorted"; then
        echo "ok $n - $1"
    else
        failed=$((failed + 1))
        echo "not ok $n - $1"
        diff "$work/a.sorted" "$work/b.sorted" | sed 's/^/# /'
    fi
}

# The long options of lines "COMMAND TAB TEXT", as "COMMAND --option". An option that also has a letter is named by
# its letter.
options() {
    awk -F '\t' '{
        text = $2
        gsub(/--count/, "-n", text)
        while (match(text, /(^|[^-a-z])(--[a-z][-a-z]*|-n)/)) {
            word = substr(text, RSTART, RLENGTH)
            sub(/^[^-]*/, "", word)
            print $1, word
            text = substr(text, RSTART + RLENGTH)
        }
    }'
}

# Items of the lists in a section of a man page, without lists within lists: "WORDS TAB REST".
items() { # FILE SECTION MACRO [DEPTH]
    awk -v section="$2" -v macro="$3" -v level="${4:-1}" '
        /^\.Sh/ { inside = section == "" || index($0, section) }
        /^\.Bl/ { depth++ }
        /^\.El/ { depth-- }
        whole != "" { $0 = whole " " $0; whole = "" }
        /\\$/ { whole = substr($0, 1, length($0) - 1); next }
        inside && depth == level && $1 == ".It" && $2 == macro {
            words = ""
            for (i = 3; i <= NF && $i ~ /^[a-z][-a-z]*$/; i++)
                words = words (i > 3 ? " " : "") $i
            rest = ""
            for (; i <= NF; i++)
                rest = rest " " ($(i - 1) == "Fl" ? "-" : "") $i
            print words "\t" rest
        }' "$1"
}

# All long options of a man page.
man_options() {
    grep -o 'Fl -[a-z][-a-z]*' "$1" | sed 's/Fl /-/'
}

# ---- fabricctl

ctl=$build/cli/fabricctl
"$ctl" --help | sed '/^Options:/,$d' | grep '^  [a-z]' | awk '{
        line = substr($0, 3)
        sub(/  .*/, "", line)
        words = $1
        if (split(line, w, " ") > 1 && w[2] ~ /^[a-z]+$/)
            words = words " " w[2]
        print words "\t" line
    }' >"$work/help"
items "$top/doc/fabricctl.1" COMMANDS Cm >"$work/man"

cut -f 1 "$work/help" >"$work/a"
cut -f 1 "$work/man" >"$work/b"
same 'fabricctl: commands in the help and the man page'

options <"$work/help" >"$work/a"
options <"$work/man" >"$work/b"
same 'fabricctl: their options in the help and the man page'

"$ctl" --help | sed '1,/^Options:/d' | grep -o -e '--[a-z][-a-z]*' >"$work/a"
man_options "$top/doc/fabricctl.1" | grep -v '^--sim$' >"$work/b" # an option of fabricd
echo --count >>"$work/b"
same 'fabricctl: all options in the help and the man page'

"$ctl" --help | sed '/^Options:/,$d' | awk '
    /^  [a-z]/ {
        words = $1
        if ($2 ~ /^[a-z]+$/ && substr($0, 3 + length($1), 2) != "  ") words = words " " $2
    }
    /\[(operator|administrator)\]$/ { gsub(/[][]/, "", $NF); print words "\t" $NF }' >"$work/a"
awk '/^\.Sh/ { inside = /COMMANDS/ }
    inside && /^\.Bl/ { depth++ }
    inside && /^\.El/ { depth-- }
    inside && depth == 1 && $1 == ".It" && $2 == "Cm" {
        words = $3 ($4 ~ /^[a-z]+$/ ? " " $4 : "")
    }
    role { print words "\t" $2; role = 0 }
    inside && /^Needs the role$/ { role = 1 }' "$top/doc/fabricctl.1" >"$work/b"
same 'fabricctl: roles of commands in the help and the man page'

if command -v bash >/dev/null; then
    # All commands and options that the completion suggests.
    cat >"$work/complete" <<'BASH'
. "$1"
compopt() { :; }
export FABRICCTL_SERVER=unix:/nonexistent # the completion asks no manager
offer() {
    COMP_WORDS=(fabricctl "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _fabricctl
}
offer ''
for noun in "${COMPREPLY[@]}"; do
    offer "$noun" ''
    verbs=()
    for verb in "${COMPREPLY[@]}"; do
        # the candidates after these commands are arguments
        [[ $verb =~ ^[a-z]+$ && ! $noun =~ ^(diagnostics|undrain|help|schema)$ ]] && verbs+=("$verb")
    done
    [ ${#verbs[@]} -eq 0 ] || [ "$noun" = reroute ] && echo "$noun"
    for verb in "${verbs[@]}"; do
        echo "$noun $verb"
    done
done >"$2/commands"
offer status -
global=" ${COMPREPLY[*]} "
while read -r command; do
    offer $command -
    lists= # the options of all lists
    [[ " ${COMPREPLY[*]} " != *' --sort '* ]] || lists=' --sort --state --rate --watch '
    for option in "${COMPREPLY[@]}"; do
        [[ $lists$global == *" $option "* ]] || printf '%s\t%s\n' "$command" "$option"
    done
done <"$2/commands" >"$2/options"
printf '%s\n' $global >"$2/global"
BASH
    PATH=$build/cli:$PATH bash "$work/complete" "$top/etc/completion/fabricctl.bash" "$work"

    cut -f 1 "$work/help" >"$work/a"
    cp "$work/commands" "$work/b"
    same 'fabricctl: commands in the help and the completion'

    options <"$work/help" >"$work/a"
    options <"$work/options" >"$work/b"
    same 'fabricctl: their options in the help and the completion'
fi

# What the completions of zsh and fish offer.
for line in 'node ' 'node list --' 'topo export --format '; do
    # shellcheck disable=SC2086
    FABRICCTL_SERVER=unix:/nonexistent "$ctl" __complete $line "${line##* }" | cut -f 1 | grep -v '^:' >"$work/a"
    if command -v zsh >/dev/null; then
        # shellcheck disable=SC2016
        FABRICCTL_SERVER=unix:/nonexistent PATH=$build/cli:$PATH zsh -fc '
            compadd() { shift ${@[(i)--]}; print -l -- "$@" }
            words=(fabricctl ${=2} "")
            [[ $2 == *" " ]] || words=(fabricctl ${=2})
            CURRENT=$#words
            . "$1"' zsh "$top/etc/completion/fabricctl.zsh" "$line" >"$work/b"
        same "fabricctl: zsh completes '$line'"
    fi
    if command -v fish >/dev/null; then
        # shellcheck disable=SC2016
        HOME=$work FABRICCTL_SERVER=unix:/nonexistent PATH=$build/cli:$PATH fish --no-config -c '
            source $argv[1]
            complete -C "fabricctl $argv[2]"' "$top/etc/completion/fabricctl.fish" "$line" | cut -f 1 >"$work/b"
        same "fabricctl: fish completes '$line'"
    fi
done

# ---- the JSON Schema of the outputs

"$ctl" schema >"$work/a"
cp "$top/doc/fabricctl.schema.json" "$work/b"
same 'fabricctl: doc/fabricctl.schema.json is what fabricctl schema prints'

# ---- fabricd

"$build/fabricd/fabricd" --help | grep '^ .*--' | grep -o -e '--[a-z][-a-z]*' >"$work/a"
man_options "$top/doc/fabricd.8" >"$work/b"
same 'fabricd: options in the help and the man page'

# ---- fabsim; its completion uses its help

sim=$build/cli/fabsim
families=$("$sim" generate --help | sed '1,/^families:/d' | awk '{ print $1 }')
for family in $families; do
    "$sim" generate "$family" --help | sed '/^options of all/,$d' |
        sed -n 's/^  \(--[a-z][-a-z]*\).*/'"$family"' \1/p'
done >"$work/a"
items "$top/doc/fabsim.1" '' Cm 2 | options | grep -v 'fat-tree --radix' >"$work/b" # an option of all families
same 'fabsim: families and their options in the help and the man page'

"$sim" generate torus --help | sed '1,/^options of all/d' | grep -o -e '--[a-z][-a-z]*' >"$work/a"
awk '/^The options of$/ { part++ } part == 1' "$top/doc/fabsim.1" >"$work/general"
man_options "$work/general" >"$work/b"
same 'fabsim: options of all families in the help and the man page'

"$sim" ctl --help | sed '1,/^commands:/d' | sed -n 's/^  \([a-z][-a-z]*\) .*/\1/p' >"$work/a"
sed -n 's/^\.It Ic \([a-z][-a-z]*\).*/\1/p' "$top/doc/fabsim.1" >"$work/b"
same 'fabsim: commands of ctl in the help and the man page'

"$sim" ctl --help | sed '1,/^commands:/d' | awk '
    /^  [a-z]/ { verb = $1 }
    { while (match($0, /[a-z]+=/)) { print verb, substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) } }' >"$work/a"
awk '/\\$/ { sub(/\\$/, ""); printf "%s", $0; next } { print }' "$top/doc/fabsim.1" |
    awk '$1 == ".It" && $2 == "Ic" { for (i = 4; i <= NF; i++) if ($i ~ /^[a-z]+=$/) print $3, $i }' >"$work/b"
same 'fabsim: options of commands of ctl in the help and the man page'

echo "1..$n"
exit $((failed > 0))
