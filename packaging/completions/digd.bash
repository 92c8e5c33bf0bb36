# bash completion for digd
_digd() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  if [[ $cur == -* ]]; then
    local options='-h --help --version --config --listen --data-dir --check-config --print-config --print-schema'
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  elif [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W init -- "$cur")
  fi
}
complete -o default -F _digd digd
