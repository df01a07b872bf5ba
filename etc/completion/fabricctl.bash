# bash completion for fabricctl. Names of nodes come from the running manager, if there is one.

_fabricctl_names()
{
    timeout 1 fabricctl node list -o json 2>/dev/null |
        sed -n 's/.*"name": *"\([^"]*\)".*/\1/p'
}

_fabricctl()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local i words=() word
    COMPREPLY=()
    case $prev in
    -o | --output) mapfile -t COMPREPLY < <(compgen -W 'text json' -- "$cur") && return ;;
    -s | --server) mapfile -t COMPREPLY < <(compgen -W 'unix: tls:' -- "$cur") && return ;;
    --tls-ca | --tls-cert | --tls-key) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    esac
    # The words of the command so far, without options and their values.
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -o | -s | -n | --output | --server | --timeout | --tls-* | --count | --after) ((i++)) ;;
        -*) ;;
        *) words+=("${COMP_WORDS[i]}") ;;
        esac
    done
    case "${words[*]:0:2}" in
    '') word='status node port link path route event sweep reroute sim version' ;;
    node) word='list show' ;;
    port) word='list show disable enable' ;;
    link) word='list' ;;
    route) word='show verify' ;;
    event) word='list watch' ;;
    sim) word='unlink relink' ;;
    'node list') word='switch adapter router' ;;
    'node show' | 'port show' | 'port list' | 'port disable' | 'port enable' | 'link list' | 'sim unlink' | 'sim relink' | 'route show' | path*)
        local IFS=$'\n'
        mapfile -t COMPREPLY < <(compgen -W "$(_fabricctl_names)" -- "$cur")
        return
        ;;
    *) return ;;
    esac
    [[ $cur == -* ]] && word='-s --server -o --output --timeout --tls-ca --tls-cert --tls-key --tls-name -n --count --after -h --help -V --version'
    mapfile -t COMPREPLY < <(compgen -W "$word" -- "$cur")
}
complete -F _fabricctl fabricctl
