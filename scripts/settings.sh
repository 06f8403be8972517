# shellcheck shell=bash
# shellcheck disable=SC2154 # the names are of the script that reads this file
# The values of the functions' settings, which infra/settings.json lists.

set_names=() set_values=()

# set_option reads NAME=VALUE.
set_option() {
  local name=${1%%=*} value=${1#*=}
  [[ $1 =~ ^[A-Z][A-Z0-9_]*= ]] || wrong "--set takes NAME=VALUE, not $name"
  case $value in @*) value=$(cat -- "${value#@}") || wrong "--set $name: the file cannot be read" ;; esac
  set_names+=("$name")
  set_values+=("$value")
}

# operator keeps in the variable text the value of a setting in --set, or nothing.
operator() {
  local i
  text=''
  for ((i = ${#set_names[@]} - 1; i >= 0; i--)); do
    [ "${set_names[i]}" != "$1" ] || { text=${set_values[i]}; return; }
  done
}

# check_settings refuses settings that the operator may not set.
check_settings() {
  local name set known by
  for name in ${set_names[@]+"${set_names[@]}"}; do
    set=''
    while read -r known by _; do [ "$known" != "$name" ] || set=$by; done < <(table setting)
    case $set in
      operator) ;;
      deployment) wrong "--set $name: the deployment sets it itself" ;;
      never) wrong "--set $name: it is not for deployed functions" ;;
      *) wrong "--set $name: there is no such setting; shared/config/README.md lists them" ;;
    esac
  done
}

# value keeps in the variable text the value of a setting; nothing leaves the function's default.
value() {
  text=''
  case $1 in
    OPLEDGER_WEBHOOK_URL) text=${webhook_url:-$webhook_uri} ;;
    OPLEDGER_EFFECT_SECRET) [ -z "$sign_effects" ] || deployed_value "$1" ;;
    OPLEDGER_JOB_STORAGE) [ -z "$job_bucket" ] || deployed_value "$1" ;;
    *) deployed_value "$1" || operator "$1" ;;
  esac
}

# check_values checks the settings that the functions would get, with their own code.
check_values() { with_values go run ./scripts/stage/check "${functions[@]}" >&2; }

# with_values COMMAND… runs a command with the settings that the functions would get, and no other variable of ours.
with_values() (
  webhook_uri=https://webhook.invalid # the function's own URL is known only once it is deployed
  unset "${!OPLEDGER_@}"
  while read -r name set _; do
    unset "$name"
    [ "$set" != never ] || continue
    value "$name"
    [ -z "$text" ] || export "$name=$text"
  done < <(table setting)
  "$@"
)

# environment prints a function's environment for --set-env-vars, with a separator that no value contains.
environment() {
  local name set users text separator all=()
  while read -r name set users; do
    [[ $set != never && ,$users, == *,$1,* ]] || continue
    value "$name"
    [ -z "$text" ] || all+=("$name=$text")
  done < <(table setting)
  for separator in ',' ';' '|' '#' '~' ':::' '@@@'; do
    [[ "${all[*]}" != *"$separator"* ]] || continue
    [ "$separator" = , ] || printf '^%s^' "$separator"
    printf %s "${all[0]}"
    for text in "${all[@]:1}"; do printf '%s%s' "$separator" "$text"; done
    return
  done
  fail "the settings of $1 contain every separator that gcloud accepts; leave one of , ; | # ~ out of OPLEDGER_EFFECTS"
}
