# bash completion for fabricctl. Names of nodes come from the running manager, if there is one.

# _fabricctl_nodes [TYPE]: names of nodes, asked with the address options of the line so far.
_fabricctl_nodes()
{
    timeout 1 fabricctl "${server[@]}" -o json node list "$@" 2>/dev/null |
        sed -n 's/^ *{"name": "\(\([^"\\]\|\\.\)*\)", "type".*/\1/p'
}

# _fabricctl_ports NODE: NODE/1, NODE/2, ...
_fabricctl_ports()
{
    timeout 1 fabricctl "${server[@]}" -o json port list "$1" 2>/dev/null |
        sed -n 's/^ *{"node": "\(\([^"\\]\|\\.\)*\)", "node_guid": "[^"]*", "port": \([0-9]*\),.*/\1\/\3/p' |
        grep -v '/0$'
}

_fabricctl_classes()
{
    timeout 1 fabricctl "${server[@]}" -o json class list 2>/dev/null |
        sed -n 's/^ *{"name": "\(\([^"\\]\|\\.\)\+\)", "share_percent".*/\1/p'
}

_fabricctl_racks()
{
    timeout 1 fabricctl "${server[@]}" -o json rack list 2>/dev/null |
        sed -n 's/^ *{"name": "\(\([^"\\]\|\\.\)*\)", "row".*/\1/p'
}

_fabricctl_hosts()
{
    timeout 1 fabricctl "${server[@]}" -o json host list 2>/dev/null |
        sed -n 's/^ *{"name": "\(\([^"\\]\|\\.\)*\)", "rack".*/\1/p'
}

_fabricctl_snapshots()
{
    timeout 1 fabricctl "${server[@]}" -o json topo list 2>/dev/null |
        sed -n 's/^ *{"name": "\([^"\\]*\)", "time".*/\1/p'
}

_fabricctl_partitions()
{
    timeout 1 fabricctl "${server[@]}" -o json partition list 2>/dev/null |
        sed -n 's/^ *{"name": "\(\([^"\\]\|\\.\)\+\)", "pkey".*/\1/p'
}

_fabricctl_mlids()
{
    timeout 1 fabricctl "${server[@]}" -o json multicast list 2>/dev/null |
        sed -n 's/^.*"mlid": "\(0x[0-9a-f]*\)".*/\1/p'
}

# _fabricctl_offer LINES: complete the current word with whole lines, blanks and all.
_fabricctl_offer()
{
    local line IFS=$'\n'
    while read -r line; do
        [[ $line == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$line")")
    done <<<"$1"
}

# Names of routing engines, one or several with commas between.
_fabricctl_offer_engines()
{
    local before=
    [[ $cur == *,* ]] && before=${cur%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W 'fattree updn nue minhop sssp dfsssp dor torus
        dragonfly dragonfly+ file' -- "${cur##*,}")
}

# First the node, then its ports.
_fabricctl_offer_port()
{
    if [[ $cur == */* ]]; then
        _fabricctl_offer "$(_fabricctl_ports "${cur%/*}")"
    else
        compopt -o nospace
        _fabricctl_offer "$(_fabricctl_nodes | sed 's|$|/|')"
    fi
}

# _fabricctl_offer_names COMMAND: what stands behind it. False: nothing of a fabric.
_fabricctl_offer_names()
{
    case $1 in
    'route whatif'* | 'route contingency') _fabricctl_offer_port ;;
    'route compare'*) _fabricctl_offer_engines ;;
    'route show') _fabricctl_offer "$(_fabricctl_nodes switch)" ;;
    'port show' | 'port disable' | 'port enable' | 'link release' | 'link isolate' | 'link unhealthy' | 'port history' | 'link history' | 'cc show' | 'sim '*) _fabricctl_offer_port ;;
    'class show') _fabricctl_offer "$(_fabricctl_classes)" ;;
    'partition show') _fabricctl_offer "$(_fabricctl_partitions)" ;;
    'multicast show') _fabricctl_offer "$(_fabricctl_mlids)" ;;
    'host show') _fabricctl_offer "$(_fabricctl_hosts)" ;;
    'node forget') _fabricctl_offer "$(_fabricctl_nodes --gone)" ;;
    'node show' | 'node approve' | 'topo approve' | 'topo disapprove' | 'port list' | 'port counters' | 'link list' | 'cc log' | path*) _fabricctl_offer "$(_fabricctl_nodes)" ;;
    history*) _fabricctl_offer_port ;;
    'topo diff'* | 'topo snapshot') _fabricctl_offer "$(_fabricctl_snapshots)" ;;
    diagnostics) _fabricctl_offer 'settings metrics database process' ;;
    *) return 1 ;;
    esac
    return 0
}

_fabricctl()
{
    local cur prev words=() server=() i line formats=
    COMPREPLY=()
    # The colon of unix:PATH is no end of a word.
    if declare -F _get_comp_words_by_ref >/dev/null; then
        local cword
        _get_comp_words_by_ref -n : cur prev words cword
        line=("${words[@]:1:cword-1}")
    else
        cur=${COMP_WORDS[COMP_CWORD]}
        prev=${COMP_WORDS[COMP_CWORD - 1]}
        line=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
    fi
    case ${line[*]} in
    *'topo export'*) formats='ibnetdiscover dot json slurm opensm-lst' ;;
    *'cc export'*) formats='sonic mlx5' ;;
    *'route export'*) formats='opensm-lfts opensm-fdbs opensm-sl2vl path-sl' ;;
    esac
    case $prev in
    --format) mapfile -t COMPREPLY < <(compgen -W "$formats" -- "$cur") && return ;;
    -o | --output) [[ ${line[*]} =~ (topo|route)\ export|route\ certify ]] && mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;&
    -o | --output) mapfile -t COMPREPLY < <(compgen -W 'text json' -- "$cur") && return ;;
    -s | --server)
        compopt -o nospace
        mapfile -t COMPREPLY < <(compgen -W 'unix: tls:' -- "$cur") && return
        ;;
    --severity) mapfile -t COMPREPLY < <(compgen -W 'debug info warning error' -- "$cur") && return ;;
    --tls-ca | --tls-cert | --tls-key) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    --dir | --state-dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && return ;;
    --job | --passphrase-file | --map) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    --engine) _fabricctl_offer_engines && return ;;
    --by) [[ ${line[*]} =~ port\ top ]] && mapfile -t COMPREPLY < <(compgen -W 'data packets wait errors' -- "$cur")
        return ;;
    --counter)
        mapfile -t COMPREPLY < <(compgen -W 'sent received packets-sent packets-received wait errors down
            SymbolErrorCounter LinkErrorRecoveryCounter LinkDownedCounter PortRcvErrors' -- "$cur")
        return
        ;;
    --timeout | --tls-name | --sl | -n | --count | --after | --samples | --seed | --reason | --since | --until | --object) return ;;
    --method | --result | --days | --older-than | --subject | --type) return ;;
    --rack) _fabricctl_offer "$(_fabricctl_racks)" && return ;;
    esac
    # The words of the command so far, without options and their values.
    words=()
    for ((i = 0; i < ${#line[@]}; i++)); do
        case ${line[i]} in
        -s | --server | --tls-*) server+=("${line[i]}" "${line[++i]}") ;;
        -o | --output | --timeout | -n | --count | --after | --severity | --format | \
            --hosts | --job | --samples | --seed | --engine | --fail | --sl | \
            --reason | --since | --until | --by | --object | --method | --result | --counter | --dir | --days | --width | --speed | --older-than | --rack | --subject | --type | \
            --passphrase-file | --state-dir | --map | --to) ((++i)) ;;
        -*) ;;
        *) words+=("${line[i]}") ;;
        esac
    done
    local offer=
    case "${words[*]:0:2}" in
    '') offer='status history node host rack port partition multicast class service subscription link ha key path route cc topo event audit backup restore diagnostics support-bundle cert sweep reroute version whoami sim' ;;
    node) offer='list show pins approve forget' ;;
    host) offer='list show' ;;
    rack) offer='list' ;;
    port) offer='list show counters top history disable enable' ;;
    partition | multicast | class) offer='list show' ;;
    service | subscription) offer='list' ;;
    ha) offer='status handover priority' ;;
    key) offer='show rotate' ;;
    link) offer='list flapping unhealthy history isolate release' ;;
    route) offer='show verify explain quality compare whatif contingency rebalance export certify' ;;
    cc) offer='status show congested log export' ;;
    topo) offer='check infer isolate export baseline approve disapprove snapshot list diff' ;;
    event) offer='list watch' ;;
    audit) offer='list export verify' ;;
    cert) offer='init issue list renew revoke' ;;
    reroute) offer='list show' ;;
    sim) offer='unlink relink degrade' ;;
    'node list') offer='switch adapter router --gone --rack' ;;
    'event '* | 'reroute list') cur=${cur:--} ;;
    backup | restore | support-bundle | 'topo check' | 'topo isolate') [[ $cur == -* ]] || { compopt -o default && return; } ;;
    *) [[ $cur == -* ]] || { _fabricctl_offer_names "${words[*]:0:2}" && return; } ;;
    esac
    if [[ $cur == -* ]]; then
        offer='-s --server -o --output --timeout --tls-ca --tls-cert --tls-key --tls-name -h --help'
        [[ "${words[*]:0:2}" =~ ^(reroute\ list|route\ contingency|cc\ congested)$ ]] && offer+=' -n --count'
        [[ "${words[*]:0:2}" =~ ^(backup|sweep|reroute|route\ rebalance|node\ approve|node\ forget|topo\ approve|topo\ disapprove|topo\ isolate|topo\ snapshot|port\ disable|port\ enable|link\ isolate|link\ release|ha\ handover|ha\ priority|key\ rotate|sim\ unlink|sim\ relink|sim\ degrade)$ ]] && offer+=' --reason'
        [[ "${words[*]:0:2}" =~ ^audit\ (list|export)$ ]] && offer+=' --since --until --by --object --method --result'
        [[ "${words[*]:0:2}" == 'link list' ]] && offer+=' --degraded --gone --rack'
        [[ "${words[*]:0:2}" == 'node list' ]] && offer+=' --gone --rack'
        [[ "${words[*]:0:2}" == 'host list' ]] && offer+=' --rack'
        [[ "${words[*]:0:2}" == 'port top' ]] && offer+=' --by --since -n --count'
        [[ "${words[*]:0:2}" == 'port history' ]] && offer+=' --counter'
        [[ "${words[*]:0:2}" =~ ^(port|link)\ history$ ]] && offer+=' --since --until -n --count'
        [[ "${words[*]:0:2}" == 'node forget' ]] && offer+=' --older-than --dry-run'
        [[ "${words[*]:0:2}" == 'topo check' ]] && offer+=' -n --count --watch'
        [[ "${words[*]:0:2}" == 'sim degrade' ]] && offer+=' --width --speed'
        [[ "${words[*]:0:2}" == 'audit list' ]] && offer+=' -n --count'
        [[ "${words[*]:0:2}" =~ ^cert\ (init|issue|renew)$ ]] && offer+=' --dir --days'
        [[ "${words[*]:0:2}" =~ ^cert\ (list|revoke)$ ]] && offer+=' --dir'
        [[ ${words[0]} =~ ^(backup|restore)$ ]] && offer+=' --passphrase-file'
        [[ ${words[0]} == restore ]] && offer+=' --verify --replace --state-dir'
        [[ ${words[0]} == support-bundle ]] && offer+=' --anonymize --map'
        [[ ${words[0]} == event ]] && offer+=' -n --count --severity'
        [[ ${words[0]} == history ]] && offer+=' -n --count --since --until'
        [[ "${words[*]:0:2}" == 'event list' ]] && offer+=' --since --until --subject --type'
        [[ "${words[*]:0:2}" == 'event watch' ]] && offer+=' --after'
        [[ "${words[*]:0:2}" =~ ^(node\ pins|topo\ baseline)$ ]] && offer+=' --waiting'
        [[ "${words[*]:0:2}" == 'topo approve' ]] && offer+=' --all --dry-run'
        [[ "${words[*]:0:2}" == 'topo isolate' ]] && offer+=' --dry-run'
        [[ "${words[*]:0:2}" == 'topo disapprove' ]] && offer+=' --all'
        [[ "${words[*]:0:2}" == 'topo snapshot' ]] && offer+=' --forget'
        [[ "${words[*]:0:2}" == 'node approve' ]] && offer+=' --all --forget'
        [[ "${words[*]:0:2}" == 'ha handover' ]] && offer+=' --to'
        [[ "${words[*]:0:2}" == 'key rotate' ]] && offer+=' --cc --give-up-absent'
        [[ "${words[*]:0:2}" == 'cc show' ]] && offer+=' --explain --sl'
        [[ "${words[*]:0:2}" == 'cc export' ]] && offer+=' --roce --explain'
        [[ -n $formats ]] && offer+=' --format'
        [[ "${words[*]:0:2}" =~ ^route\ (quality|compare|whatif)$ ]] && offer+=' --hosts --job --samples --seed'
        [[ "${words[*]:0:2}" == 'route whatif' ]] && offer+=' --fail --engine'
    fi
    mapfile -t COMPREPLY < <(compgen -W "$offer" -- "$cur")
}
complete -F _fabricctl fabricctl
