#compdef fabricctl
# zsh completion for fabricctl. The program itself says what can follow: 'fabricctl __complete WORD...' prints a
# line for each candidate, with a tab and a description, and for ":files" the names of files follow.

_fabricctl()
{
    local line candidate description
    local -a candidates descriptions options
    for line in "${(@f)$(fabricctl __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        candidate=${line%%$'\t'*}
        description=${line#*$'\t'}
        case $candidate in
        '') ;;
        :files) _files ;;
        :nospace) options=(-S '') ;;
        *)
            candidates+=("$candidate")
            descriptions+=("$candidate${description:+  -- $description}")
            ;;
        esac
    done
    (( $#candidates )) && compadd "${options[@]}" -l -d descriptions -- "${candidates[@]}"
}

_fabricctl "$@"
