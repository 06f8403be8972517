# shellcheck shell=bash
# shellcheck disable=SC2154 # the names are of the scripts that read this file
# How deploy, doctor and teardown find what accounts of the deployment have beside the roles of infra/roles.json, and
# take it away.

# things prints what the roles of the table are on, each thing once: "KIND NAME". The project stands for its parts.
things() {
  local names name
  table role | awk '{ sub(/^(database|source)$/, "project", $3) } $3 == "project" { $4 = "-" } $3 !~ /^(bucket|own-secret)$/ && !seen[$3, $4]++ { print $3, $4 }'
  every_bucket
  for name in ${names[@]+"${names[@]}"}; do printf 'bucket %s\n' "$name"; done
  names_of own-secret - -
  for name in ${names[@]+"${names[@]}"}; do printf 'own-secret %s\n' "$name"; done
}

# every_bucket keeps in the array names each bucket on which the deployment grants something, once.
every_bucket() {
  names=(${buckets[@]+"${buckets[@]}"})
  [[ -z $job_bucket || " ${names[*]-} " == *" $job_bucket "* ]] || names+=("$job_bucket")
}

# roles_on KIND NAME keeps in the variable entries those of the table for one of the things, without its kind and name,
# a line each: "WHO ROLE CONDITION ONLY WHY…". The name - stands for any bucket or secret.
roles_on() {
  local who role kind name rest condition names IFS=' '
  entries=''
  while read -r who role kind name rest; do
    case $1:$kind:$name in
      project:database:* | project:source:*) condition=$kind ;;
      bucket:bucket:*)
        names_of bucket - "${rest%% *}"
        [[ $2 = - || " ${names[*]-} " == *" $2 "* ]] || continue
        condition=-
        ;;
      own-secret:own-secret:* | "$1:$1:$2") condition=- ;;
      *) continue ;;
    esac
    entries+=${entries:+$'\n'}"$who $role $condition $rest"
  done <<<"${table_role-}" # without the process that table takes: this is asked of each thing, twice
}

# granted_as MEMBER ROLE CONDITION keeps in the variable text a grant as policy_flags has it printed.
granted_as() {
  local condition='title=,expression='
  [ "$3" = - ] || condition=$(condition_on "$3")
  condition=${condition#title=}
  text="$1|$2|${condition%%,expression=*}|${condition#*,expression=}"
}

# wanted_on KIND NAME keeps in the array wanted every grant that the table says for one of the things.
wanted_on() {
  local entries who role condition only grantees one text
  wanted=()
  roles_on "$1" "$2"
  while read -r who role condition only _ && [ -n "$who" ]; do
    grantees_of "$who" "$only"
    for one in ${grantees[@]+"${grantees[@]}"}; do
      granted_as "$one" "$role" "$condition"
      wanted+=("$text")
    done
  done <<<"$entries"
}

# ours_on KIND NAME prints a pattern of the grants on a thing that are the deployment's to take away. On what it made
# itself, these are all that its accounts have, and all that makes a function public; who may call Register is its
# choice, too. On the project and on the operator's buckets and secrets, where its accounts may have further roles,
# these are the roles that it grants there.
ours_on() {
  local entries roles='' role ours IFS='|'
  ours="serviceAccount:$prefix-(${accounts[*]})@${accounts_at//./\\.}"
  case $1 in project | bucket | own-secret)
    if [ "$1" = bucket ]; then roles_on bucket -; else roles_on "$1" "$2"; fi
    while IFS=' ' read -r _ role _; do
      [[ "|$roles|" == *"|$role|"* ]] || roles+=${roles:+|}$role
    done <<<"$entries"
    ;;
  esac
  case $1 in
    project) printf '^%s[|](%s)[|](%s|%s)[|]' "$ours" "$roles" "$(title_of database)" "$(title_of source)" ;;
    bucket | own-secret) printf '^%s[|](%s)[|]' "$ours" "$roles" ;;
    service)
      ours+="|all(Authenticated)?Users"
      if [ "$2" = register ]; then
        printf '^(%s)[|]|[|]roles/run\.invoker[|]' "$ours"
      else
        printf '^(%s)[|]' "$ours"
      fi
      ;;
    *) printf '^%s[|]' "$ours" ;;
  esac
}

# surplus PATTERN GRANT… prints what of a policy, on standard input, matches the pattern and is none of the grants.
surplus() {
  local pattern=$1 line granted IFS=$'\n'
  shift
  granted=$'\n'$*$'\n'
  while IFS= read -r line; do
    [[ ! $line =~ $pattern || $granted == *$'\n'"$line"$'\n'* ]] || printf '%s\n' "$line"
  done
}

# removal COMMAND LINE keeps in the array removing the call of gcloud that takes away what a line of a policy says.
# ACTION in the command is its place.
removal() {
  local member role title expression
  IFS='|' read -r member role title expression <<<"$2"
  IFS=' ' read -ra removing <<<"gcloud ${1/ACTION/remove-iam-policy-binding} --project=$project"
  removing+=("--member=$member" "--role=$role")
  [ -z "$title" ] || removing+=("--condition=title=$title,expression=$expression")
}

# surplus_of COMMAND PATTERN GRANT… prints what of the policy that a command reads is surplus. ACTION in the command is
# its place.
surplus_of() {
  local reading list
  IFS=' ' read -ra reading <<<"gcloud ${1/ACTION/get-iam-policy} --project=$project --quiet"
  shift
  list=$("${reading[@]}" "${policy_flags[@]}") || return
  surplus "$@" <<<"$list"
}

# take_away COMMAND PATTERN GRANT… takes away from a policy what is surplus, and says so.
take_away() {
  local list line removing
  list=$(surplus_of "$@") || return
  while IFS= read -r -u 5 line; do
    [ -n "$line" ] || continue
    removal "$1" "$line"
    printf 'taken away, because it is not granted any more: %s\n' "${removing[*]}" >&2
    "${removing[@]}" --quiet --format=none || return
  done 5<<<"$list"
}

# point_out COMMAND PATTERN GRANT… prints what is surplus in a policy, with the command that takes it away.
point_out() {
  local list line removing
  list=$(surplus_of "$@") || return
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    removal "$1" "$line"
    printf 'no effect needs this grant; if nothing else does, take it away: %s\n' "$(quoted "${removing[@]}")" >&2
  done <<<"$list"
}

# on_each take_away|point_out THINGS FORM PATTERN KEPT… does so for every bucket or secret of the project that is not
# kept. FORM is before its name in a command. A policy that cannot be read is reported.
on_each() {
  local act=$1 things=$2 form=$3 pattern=$4 listing list name
  shift 4
  IFS=' ' read -ra listing <<<"gcloud $things list --project=$project --quiet"
  list=$("${listing[@]}" '--format=value(name.basename())') || return
  while IFS= read -r -u 6 name; do
    [[ -n $name && " $* " != *" $name "* ]] || continue
    "$act" "$things ACTION $form$name" "$pattern" || printf 'its policy cannot be read: what is granted on %s is not known\n' "$form$name" >&2
  done 6<<<"$list"
}

# quietly does what run does, and does not print the command: what comes of it is printed.
quietly() { if [ -n "$dry_run" ]; then run "$@"; else patiently "$@"; fi; }

# withdraw takes away the grants of an earlier run that are not in the table with the choices of this one.
withdraw() {
  local kind name wanted about names
  capture secrets_there secrets list '--format=value(name.basename())'
  while read -r -u 3 kind name; do
    wanted_on "$kind" "$name"
    policy_command ACTION "$kind" "$name"
    about=(take_away "${about[*]}" "$(ours_on "$kind" "$name")" ${wanted[@]+"${wanted[@]}"})
    if [ "$kind" = secret ]; then
      if_listed secrets_there "^$prefix-$name\$" quietly "${about[@]}"
    else
      quietly "${about[@]}"
    fi
  done 3< <(things)
  every_bucket
  quietly on_each take_away "storage buckets" gs:// "$(ours_on bucket -)" ${names[@]+"${names[@]}"}
  # Handlers in Go may read secrets that only the operator knows of, so what is on the others is left to the operator. A
  # secret may be named with the project's number, so the last part of the name counts.
  names_of own-secret - -
  quietly on_each point_out secrets '' "$(ours_on own-secret -)" "$webhook_secret" "$gemini_secret" "$effect_secret" \
    ${names[@]+"${names[@]##*/}"}
}
