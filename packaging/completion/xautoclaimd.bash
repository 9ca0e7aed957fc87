# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Completion of xautoclaimd for bash.

_xautoclaimd() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} config i
    COMPREPLY=()
    case $before in
    --config)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
        return
        ;;
    --log-level)
        mapfile -t COMPREPLY < <(compgen -W "err warning notice info debug" -- "$word")
        return
        ;;
    --recovery)
        config=/etc/xautoclaimd/xautoclaimd.conf
        for ((i = 1; i < COMP_CWORD - 1; i++)); do
            [[ ${COMP_WORDS[i]} != --config ]] || config=${COMP_WORDS[i + 1]}
        done
        mapfile -t COMPREPLY < <(compgen -W "$(sed -n 's/^\[recovery  *\(.*\)\].*/\1/p' \
            "$config" "$config".d/*.conf 2>/dev/null)" -- "$word")
        return
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "--config --check --print-config --once --dry-run --recovery
        --log-level --version --help" -- "$word")
}
complete -F _xautoclaimd xautoclaimd
