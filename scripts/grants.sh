# shellcheck shell=bash
# shellcheck disable=SC2154 # the names are of the script that reads this file
# How doctor reports what each account may do, and what it may do beyond that.

# granted LINES GRANT WHAT REMEDY reports whether a policy has a grant.
granted() {
  local result=0
  holds "$1" "$2" || result=1
  report "$result" "$3" "$4"
}

# too_much LINES COMMAND PATTERN GRANT… reports what a policy has beside these grants, with the call of gcloud that
# takes it away.
extra=0
too_much() {
  local lines=$1 command=$2 line removing
  shift 2
  while IFS= read -r line; do
    removal "$command" "$line"
    printf 'too much %s: %s%s\n' "$(tr '|' ' ' <<<"${line%|}" | sed 's/ *$//')" "$(quoted "${removing[@]}")" \
      "$([[ $command != *" $prefix-register "* || $line != *'|roles/run.invoker|'* ]] || printf ', unless it was deployed with --register-caller %s' "${line%%|*}")"
    extra=$((extra + 1))
  done < <(surplus "$@" <<<"$lines")
}

# policy prints a resource's policy, a line for each member and role.
policy() { ask "$@" "${policy_flags[@]}"; }

# check_grants reports every role of the table, and every grant beside them that is the deployment's to take away.
check_grants() {
  local kind name names
  while read -r -u 3 kind name; do
    [[ $name != effect-secret || -n $signs || -n $(ask secrets describe "$effect_secret" '--format=value(name)') ]] || continue
    check_grants_on "$kind" "$name"
  done 3< <(things)
  every_bucket
  while read -r -u 3 name; do
    [[ " ${names[*]-} " == *" $name "* ]] ||
      too_much "$(policy storage buckets get-iam-policy "gs://$name")" "storage buckets ACTION gs://$name" "$(ours_on bucket -)"
  done 3< <(ask storage buckets list '--format=value(name)')
}

# check_grants_on KIND NAME does so for one of the things.
check_grants_on() {
  local about members entries who role condition only why remedy grantees one text wanted=()
  policy_command get-iam-policy "$1" "$2"
  members=$(policy "${about[@]}")
  roles_on "$1" "$2"
  while read -r who role condition only why && [ -n "$who" ]; do
    remedy=$deploy
    [ "$only" != public_webhook ] || remedy="$deploy; where the webhook is not public on purpose, --private-webhook"
    grantees_of "$who" "$only"
    for one in ${grantees[@]+"${grantees[@]}"}; do
      granted_as "$one" "$role" "$condition"
      wanted+=("$text")
      granted "$members" "$text" "$who may $why" "$remedy"
    done
  done <<<"$entries"
  policy_command ACTION "$1" "$2"
  too_much "$members" "${about[*]}" "$(ours_on "$1" "$2")" ${wanted[@]+"${wanted[@]}"}
}
