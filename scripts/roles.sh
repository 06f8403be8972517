# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # the names are for, and of, the scripts that read this file
# How deploy, doctor and teardown read and grant the roles that infra/roles.json lists.

# The buckets that results effects write to. They are the operator's own, named by --results-bucket.
buckets=()

# bucket_name OPTION VALUE keeps in the variable text a bucket's name, given with or without gs://. A role is granted on
# the whole bucket.
bucket_name() {
  text=${2#gs://}
  [[ $text =~ ^[a-z0-9][a-z0-9._-]*$ ]] || wrong "$1 takes the name of a bucket, without a path, not $2"
}
add_bucket() { bucket_name --results-bucket "$1"; buckets+=("$text"); }

# The callers of Register, by --register-caller.
callers=()

# add_caller reads a member in the form of IAM.
add_caller() {
  case $1 in
    user:?* | serviceAccount:?* | group:?* | domain:?* | principal:?* | principalSet:?*) callers+=("$1") ;;
    allUsers | allAuthenticatedUsers) wrong "--register-caller $1: Register must not be public" ;;
    *.gserviceaccount.com) wrong "--register-caller $1: write serviceAccount:$1" ;;
    *) wrong "--register-caller $1: say what it is: user:$1, group:$1 or serviceAccount:$1" ;;
  esac
}

# How a policy is printed: a line "MEMBER|ROLE|TITLE|EXPRESSION" for each grant; the last two are of its condition, or empty.
policy_flags=('--flatten=bindings[].members'
  '--format=value[separator="|"](bindings.members,bindings.role,bindings.condition.title,bindings.condition.expression)')

# member keeps in the variable text who has a role, in the form of IAM.
member() {
  case $1 in
    everybody) text=allUsers ;;
    pubsub) text=serviceAccount:service-$project_number@gcp-sa-pubsub.iam.gserviceaccount.com ;;
    *) text=serviceAccount:$prefix-$1@$accounts_at ;;
  esac
}

# names_of KIND NAME ONLY keeps in the array names what an entry of the table is about: one thing, the buckets of that
# choice, or all of the secrets that effects name.
names_of() {
  local kind name
  names=("$2")
  case $1:$3 in
    bucket:results_buckets) names=(${buckets[@]+"${buckets[@]}"}) ;;
    bucket:job_bucket) names=(${job_bucket:+"$job_bucket"}) ;;
    own-secret:*)
      names=()
      while read -r kind name; do [ "$kind" != secret ] || names+=("$name"); done <<<"$asking"
      ;;
  esac
}

# policy_command ACTION KIND NAME keeps in the array about the command of gcloud that does something about the policy of what a
# role is on.
policy_command() {
  case $2 in
    database | source | project) about=(projects "$1" "$project") ;;
    topic) about=(pubsub topics "$1" "$prefix-$3") ;;
    subscription) about=(pubsub subscriptions "$1" "$prefix-$3") ;;
    secret) about=(secrets "$1" "$prefix-$3") ;;
    own-secret) about=(secrets "$1" "$3") ;;
    account) about=(iam service-accounts "$1" "$(account "$3")") ;;
    repository) about=(artifacts repositories "$1" "$prefix-$3" "--location=$region") ;;
    bucket) about=(storage buckets "$1" "gs://$3") ;;
    service) about=(run services "$1" "$prefix-$3" "--region=$region") ;;
    *) fail "infra/roles.json: there is no kind $2" ;;
  esac
}

# asking has the functions that call Gemini with these settings, and the secrets that effects name, as scripts/stage/ask needs
# prints them.
asking=''
asks() { holds "$asking" "$1"; }

# grantees_of WHO ONLY keeps in the array grantees the members who get a role of the table, with the deployment's choices.
grantees_of() {
  local text
  grantees=()
  case $2 in
    webhook_asks_gemini) asks webhook || return 0 ;;
    effects_ask_gemini) asks effects || return 0 ;;
    sign_effects) [ -n "$sign_effects" ] || return 0 ;;
    public_webhook) [ -z "$private_webhook" ] || return 0 ;;
    register_callers) grantees=(${callers[@]+"${callers[@]}"}); return ;;
  esac
  member "$1"
  grantees=("$text")
}

# grant KIND… gives the roles of the table that are on things of these kinds, for those of the deployment's choices that it has.
grant() {
  local who role kind name only why condition names grantees one
  while read -r -u 3 who role kind name only why; do
    [[ " $* " == *" $kind "* && $only != public_webhook ]] || continue # which is a flag of functions deploy
    case $kind in # on the project, a role is for one part of it where that can be said
      database | source) condition=("--condition=$(condition_on "$kind")") ;;
      project) condition=(--condition=None) ;;
      *) condition=() ;;
    esac
    names_of "$kind" "$name" "$only"
    grantees_of "$who" "$only"
    for name in ${names[@]+"${names[@]}"}; do
      policy_command add-iam-policy-binding "$kind" "$name"
      for one in ${grantees[@]+"${grantees[@]}"}; do
        gc "${about[@]}" "--member=$one" "--role=$role" ${condition[@]+"${condition[@]}"} --format=none
      done
    done
  done 3< <(table role)
}

# condition_on database|source prints an IAM condition: the ledger's database, or the buckets in which Cloud Functions keeps the
# uploaded source. title_of prints its title, by which it is known as the deployment's.
title_of() { case $1 in database) printf 'ledger of %s' "$prefix" ;; source) printf 'source of functions' ;; esac; }
condition_on() {
  local bucket separator=''
  printf 'title=%s,expression=' "$(title_of "$1")"
  if [ "$1" = database ]; then
    printf 'resource.name == "projects/%s/databases/%s"' "$project" "$database"
    return
  fi
  while read -r bucket; do
    bucket=${bucket/NUMBER/"$project_number"}
    bucket=${bucket/PROJECT/"${project//[.:]/-}"}
    printf '%sresource.name.startsWith("projects/_/buckets/%s")' "$separator" "${bucket/REGION/"$region"}"
    separator=' || '
  done < <(table source)
}
