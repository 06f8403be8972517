# shellcheck shell=bash
# shellcheck disable=SC2154 # the names are of the script that reads this file
# What deploy knows of the functions' settings, beside the table that says which there are (infra/settings.json).

set_names=() set_values=()

# set_option reads NAME=VALUE.
set_option() {
  local name=${1%%=*} value=${1#*=}
  [[ $1 =~ ^[A-Z][A-Z0-9_]*= ]] || wrong "--set takes NAME=VALUE, not $name"
  case $value in @*) value=$(cat -- "${value#@}") || wrong "--set $name: the file cannot be read" ;; esac
  set_names+=("$name")
  set_values+=("$value")
}

# operator prints what --set says of a setting.
operator() {
  local i
  for ((i = ${#set_names[@]} - 1; i >= 0; i--)); do
    [ "${set_names[i]}" != "$1" ] || { printf '%s' "${set_values[i]}"; return; }
  done
}

# check_settings refuses what is not for the operator to set.
check_settings() {
  local name set
  for name in ${set_names[@]+"${set_names[@]}"}; do
    set=$(table setting | awk -v name="$name" '$1 == name { print $2 }')
    case $set in
      operator) ;;
      deployment) wrong "--set $name: the deployment sets it itself" ;;
      never) wrong "--set $name: it is not for deployed functions" ;;
      *) wrong "--set $name: there is no such setting" ;;
    esac
  done
}

# value prints what a setting is set to; nothing leaves it to the function's default.
value() {
  case $1 in
    OPLEDGER_WEBHOOK_URL) printf %s "${webhook_url:-$webhook_uri}" ;;
    OPLEDGER_EFFECT_SECRET) [ -z "$sign_effects" ] || deployed_value "$1" ;;
    *) deployed_value "$1" || operator "$1" ;;
  esac
}

# check_values lets the functions' own code check the settings that they would get.
check_values() { with_values go run ./scripts/stage/check "${functions[@]}" >&2; }

# with_values COMMAND… runs a command with the settings that the functions would get, and no other variable of ours.
with_values() (
  webhook_uri=https://webhook.invalid # the function's own is known only when it is there
  unset "${!OPLEDGER_@}"
  while read -r name set _; do
    unset "$name"
    text=''
    [ "$set" = never ] || text=$(value "$name")
    [ -z "$text" ] || export "$name=$text"
  done < <(table setting)
  "$@"
)

# environment prints a function's environment as --set-env-vars takes it, separated by what no value holds.
environment() {
  local name set users text separator all=()
  while read -r name set users; do
    [[ $set != never && ,$users, == *,$1,* ]] || continue
    text=$(value "$name")
    [ -z "$text" ] || all+=("$name=$text")
  done < <(table setting)
  for separator in ',' ';' '|' '#' '~' ':::' '@@@'; do
    [[ "${all[*]}" != *"$separator"* ]] || continue
    [ "$separator" = , ] || printf '^%s^' "$separator"
    printf %s "${all[0]}"
    for text in "${all[@]:1}"; do printf '%s%s' "$separator" "$text"; done
    return
  done
  fail "the settings of $1 hold every separator that gcloud can be given; leave one of , ; | # ~ out of OPLEDGER_EFFECTS"
}
