# bash completion for digd
_digd() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '-h --help --version --config --listen --data-dir --check-config --print-config --print-schema' -- "$cur")
  fi
}
complete -o default -F _digd digd
