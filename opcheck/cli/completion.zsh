#compdef %(prog_name)s
# Completion of opcheck in Z shell, printed by `opcheck completion zsh`.
%(complete_func)s() {
    local -a response values described unfinished
    local type key description
    response=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) \
        %(complete_var)s=zsh_complete "${words[1]}" 2>/dev/null)}")
    for type key description in ${response}; do
        case $type in
        file) _path_files -f ;;
        dir) _path_files -/ ;;
        goes-on) unfinished+=("$key") ;;
        plain)
            if [[ $description == _ ]]; then
                values+=("$key")
            else
                described+=("$key:$description")
            fi
            ;;
        esac
    done
    (( $#described )) && _describe -V unsorted described -U
    (( $#values )) && compadd -U -V unsorted -a values
    (( $#unfinished )) && compadd -U -V unsorted -S '' -a unfinished
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
