# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # the names are for, and of, the scripts that read this file
# How deploy, doctor and teardown read and grant the roles that infra/roles.json lists.

# The buckets that results effects write to. They are the operator's own, named by --results-bucket.
buckets=()

# add_bucket reads a bucket's name, with or without gs://. A role is granted on the whole bucket.
add_bucket() {
  local name=${1#gs://}
  [[ $name =~ ^[a-z0-9][a-z0-9._-]*$ ]] || wrong "--results-bucket takes the name of a bucket, without a path, not $1"
  buckets+=("$name")
}

# How a policy is printed: a line "MEMBER ROLE" for each.
policy_flags=('--flatten=bindings[].members' '--format=value[separator=" "](bindings.members,bindings.role)')

# member prints who has a role, in the form of IAM.
member() {
  case $1 in
    everybody) printf allUsers ;;
    pubsub) printf 'serviceAccount:service-%s@gcp-sa-pubsub.iam.gserviceaccount.com' "$project_number" ;;
    *) printf 'serviceAccount:%s' "$(account "$1")" ;;
  esac
}

# names_of KIND NAME keeps in the array names what an entry of the table is about: one thing, or all of the buckets.
names_of() {
  names=("$2")
  [ "$1" != bucket ] || names=(${buckets[@]+"${buckets[@]}"})
}

# policy_command ACTION KIND NAME keeps in the array about the command of gcloud that does something about the policy of what a
# role is on.
policy_command() {
  case $2 in
    database | source | project) about=(projects "$1" "$project") ;;
    topic) about=(pubsub topics "$1" "$prefix-$3") ;;
    subscription) about=(pubsub subscriptions "$1" "$prefix-$3") ;;
    secret) about=(secrets "$1" "$prefix-$3") ;;
    account) about=(iam service-accounts "$1" "$(account "$3")") ;;
    repository) about=(artifacts repositories "$1" "$prefix-$3" "--location=$region") ;;
    bucket) about=(storage buckets "$1" "gs://$3") ;;
    service) about=(run services "$1" "$prefix-$3" "--region=$region") ;;
    *) fail "infra/roles.json: there is no kind $2" ;;
  esac
}

# asking has the functions that call Gemini with these settings, as scripts/stage/ask needs prints them.
asking=''
asks() { grep -qx "$1" <<<"$asking"; }

# grant KIND… gives the roles of the table that are on things of these kinds, for those of the deployment's choices that it has.
grant() {
  local who role kind name only why condition grantees names one
  while read -r -u 3 who role kind name only why; do
    [[ " $* " == *" $kind "* ]] || continue
    grantees=()
    case $only in
      - | results_buckets) grantees=("$(member "$who")") ;;
      webhook_asks_gemini) ! asks webhook || grantees=("$(member "$who")") ;;
      effects_ask_gemini) ! asks effects || grantees=("$(member "$who")") ;;
      sign_effects) [ -z "$sign_effects" ] || grantees=("$(member "$who")") ;;
      register_callers) grantees=(${callers[@]+"${callers[@]}"}) ;;
    esac # public_webhook is a flag of functions deploy
    case $kind in # on the project, a role is for one part of it where that can be said
      database) condition=("--condition=$(database_only)") ;;
      source) condition=("--condition=$(source_only)") ;;
      project) condition=(--condition=None) ;;
      *) condition=() ;;
    esac
    names_of "$kind" "$name"
    for name in ${names[@]+"${names[@]}"}; do
      policy_command add-iam-policy-binding "$kind" "$name"
      for one in ${grantees[@]+"${grantees[@]}"}; do
        gc "${about[@]}" "--member=$one" "--role=$role" ${condition[@]+"${condition[@]}"} --format=none
      done
    done
  done 3< <(table role)
}

# database_only and source_only print IAM conditions: the ledger's database, and the buckets in which Cloud Functions keeps the
# uploaded source.
database_only() { printf 'title=ledger of %s,expression=resource.name == "projects/%s/databases/%s"' "$prefix" "$project" "$database"; }
source_only() {
  local bucket separator='title=source of functions,expression='
  while read -r bucket; do
    bucket=${bucket/NUMBER/"$project_number"}
    bucket=${bucket/PROJECT/"${project//[.:]/-}"}
    printf '%sresource.name.startsWith("projects/_/buckets/%s")' "$separator" "${bucket/REGION/"$region"}"
    separator=' || '
  done < <(table source)
}
