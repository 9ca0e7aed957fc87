# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Completion of xautoclaimctl for bash.

_xautoclaimctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command="" i
    local instance="" config=/etc/xautoclaimd/xautoclaimd.conf
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -i) instance=${COMP_WORDS[++i]} ;;
        --socket) ((++i)) ;;
        -*) ;;
        *) command=${command:-${COMP_WORDS[i]}} ;;
        esac
    done
    [[ -z $instance ]] || config=/etc/xautoclaimd/$instance.conf
    case $before in
    --socket)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
        return
        ;;
    -i)
        mapfile -t COMPREPLY < <(compgen -W "$(for i in /run/xautoclaimd-*/; do
            [[ ! -d $i ]] || { i=${i#/run/xautoclaimd-} && echo "${i%/}"; }
        done)" -- "$word")
        return
        ;;
    esac
    case $command in
    status) mapfile -t COMPREPLY < <(compgen -W "--json --watch" -- "$word") ;;
    run | pause | resume)
        mapfile -t COMPREPLY < <(compgen -W "$(sed -n 's/^\[recovery  *\(.*\)\].*/\1/p' \
            "$config" "$config".d/*.conf 2>/dev/null)" -- "$word")
        ;;
    reload) ;;
    *)
        mapfile -t COMPREPLY < <(compgen -W "-i --socket --version --help status reload run pause
            resume" -- "$word")
        ;;
    esac
}
complete -F _xautoclaimctl xautoclaimctl
