# bash completion for fabsim. Commands, families and options are those that its help names.

_fabsim_commands()
{
    fabsim --help 2>/dev/null | sed -n 's/^  fabsim \([a-z][a-z-]*\).*/\1/p' | sort -u
}

_fabsim_families()
{
    fabsim generate --help 2>/dev/null | sed -n '/^families:/,$s/^  \([a-z][a-z-]*\) .*/\1/p'
}

_fabsim_options()
{
    fabsim generate "$1" --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*' | sort -u
}

_fabsim_generate()
{
    case $prev in
    -o | --output) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    --speed) mapfile -t COMPREPLY < <(compgen -W 'SDR DDR QDR FDR EDR HDR NDR XDR' -- "$cur") ;;
    --width) mapfile -t COMPREPLY < <(compgen -W '1 2 4 8 12' -- "$cur") ;;
    generate) mapfile -t COMPREPLY < <(compgen -W "$(_fabsim_families)" -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$(_fabsim_options "${COMP_WORDS[2]}") --help -o" -- "$cur") ;;
    esac
}

_fabsim_serve()
{
    case $prev in
    -s | --socket | --host | --seed | --loss) ;;
    *) if [[ $cur == -* ]]; then
           mapfile -t COMPREPLY < <(compgen -W '--socket --host --seed --loss --console --verbose --help' -- "$cur")
       else
           mapfile -t COMPREPLY < <(compgen -f -- "$cur")
       fi ;;
    esac
}

_fabsim_ctl()
{
    case $prev in
    ctl) mapfile -t COMPREPLY < <(compgen -W "$(_fabsim_console) --socket --help" -- "$cur") ;;
    -s | --socket) ;;
    *) if ((COMP_CWORD == 4)) && [[ ${COMP_WORDS[2]} == -* ]]; then
           mapfile -t COMPREPLY < <(compgen -W "$(_fabsim_console)" -- "$cur")
       else
           _fabsim_fault
       fi ;;
    esac
}

# The commands of the console.
_fabsim_console()
{
    fabsim ctl --help 2>/dev/null | sed -n '/^commands:/,$s/^  \([a-z][a-z-]*\) .*/\1/p'
}

# The options of the fault on the line, "share=".
_fabsim_fault()
{
    local verb=${COMP_WORDS[2]}
    [[ $verb == -* ]] && verb=${COMP_WORDS[4]}
    mapfile -t COMPREPLY < <(compgen -W "$(fabsim ctl --help 2>/dev/null |
        sed -n "/^commands:/,\$s/^  $verb \(.*\)/\1/p" | grep -o '[a-z]*=')" -- "$cur")
    compopt -o nospace 2>/dev/null
}

_fabsim()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$(_fabsim_commands) --help --version" -- "$cur")
        return
    fi
    case ${COMP_WORDS[1]} in
    generate) _fabsim_generate ;;
    serve) _fabsim_serve ;;
    ctl) _fabsim_ctl ;;
    mads) mapfile -t COMPREPLY < <(compgen -W '-v --help' -- "$cur"; compgen -f -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    esac
}
complete -F _fabsim fabsim
