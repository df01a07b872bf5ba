# bash completion for fabricctl. The program itself says what can follow: 'fabricctl __complete WORD...' prints a
# line for each candidate, with a tab and a description, and for ":files" the names of files follow.

_fabricctl()
{
    local cur line candidate
    COMPREPLY=()
    # The colon of unix:PATH is no end of a word.
    if declare -F _get_comp_words_by_ref >/dev/null; then
        local words=() cword
        _get_comp_words_by_ref -n : cur words cword
        line=("${words[@]:1:cword-1}")
    else
        cur=${COMP_WORDS[COMP_CWORD]}
        line=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
    fi
    while IFS=$'\t' read -r candidate _; do
        case $candidate in
        :files) compopt -o default ;;
        :nospace) compopt -o nospace ;;
        # Names may have blanks.
        *) COMPREPLY+=("$(printf '%q' "$candidate")") ;;
        esac
    done < <(fabricctl __complete "${line[@]}" "$cur" 2>/dev/null)
}
complete -F _fabricctl fabricctl
