# Completion of opcheck in Bash 4.4 or newer, printed by `opcheck completion bash`.
%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
        file) compopt -o default ;;
        dir) compopt -o dirnames ;;
        goes-on) compopt -o nospace ;&
        plain) COMPREPLY+=("$value") ;;
        esac
    done < <(
        COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_LAST="${COMP_WORDS[COMP_CWORD]}" \
            %(complete_var)s=bash_complete "$1" 2>/dev/null
    )
}

complete -o nosort -F %(complete_func)s %(prog_name)s
