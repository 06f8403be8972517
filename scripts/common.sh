# shellcheck shell=bash
# shellcheck disable=SC2034 # the names are for the scripts that read this file
# What deploy, teardown and doctor have in common: the names of what is deployed, and commands that are run or printed.

# usage prints the comment that a script begins with.
usage() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p;}' "$0"; }

# wrong reports a mistake in the command line.
wrong() {
  printf '%s: %s; see --help\n' "${0##*/}" "$*" >&2
  exit 2
}

# fail reports what went wrong, and what to do.
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

project='' region=europe-west1 prefix=opledger database=opledger

# common_option reads the option $1 with the value $2 if it is one that every script has.
common_option() {
  case $1 in
    --project) project=$2 ;;
    --region) region=$2 ;;
    --prefix) prefix=$2 ;;
    --database) database=$2 ;;
    *) return 1 ;;
  esac
}

# name_everything checks the common options and makes names of them, the same as infra/ does.
name_everything() {
  [ -n "$project" ] || wrong "--project is missing: the id of your Google Cloud project"
  [[ $prefix =~ ^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$ ]] ||
    wrong "--prefix must be 1 to 20 lower-case letters, digits and hyphens, begin with a letter and not end with a hyphen"
  topic=$prefix-effects
  dead=$prefix-effects-dead
  job=$prefix-reconcile
  repository=$prefix-functions
  webhook_secret=$prefix-webhook-secret
  gemini_secret=$prefix-gemini-api-key
  effect_secret=$prefix-effect-secret
  store=firestore:$database
  [ "$database" != '(default)' ] || store=firestore
  accounts_at=$project.iam.gserviceaccount.com
  case $project in *:*) accounts_at=${project#*:}.${project%%:*}.iam.gserviceaccount.com ;; esac # of the form example.com:project
}

functions=(effects webhook register reconcile) # in the order of deploying: first what a new message may need
accounts=(webhook register reconcile effects push scheduler build)
apis=(artifactregistry cloudbuild cloudfunctions cloudresourcemanager cloudscheduler firestore iam logging monitoring pubsub
  run secretmanager storage)

# The bucket that jobs use, which deploy makes; empty: there are no jobs.
job_bucket=''

# account prints the address of one of the service accounts.
account() { printf %s "$prefix-$1@$accounts_at"; }

# schedule prints the schedule of passes at an interval; those that do not divide the hour have none.
schedule() {
  case $1 in
    1m | 2m | 3m | 4m | 5m | 6m | 10m | 12m | 15m | 20m | 30m) printf '*/%s * * * *' "${1%m}" ;;
    *) return 1 ;;
  esac
}

# The push subscription, except its endpoint. The deadline is longer than Effects may run, so that a message is
# not redelivered while it is handled. Effects refuses only what the ledger could not record, but while Firestore
# is unavailable that is everything: few attempts would make good messages dead letters.
ack_deadline=600 min_retry=10s max_retry=600s max_attempts=100 retention=604800s

# How many instances of each function there are at most, each of one vCPU. A new project has 20 vCPU in a region, some older
# ones allow 10 instances of a service. The sum is at most 20, so that a busy Effects leaves Webhook its share.
max_instances=(effects=7 webhook=8 register=3 reconcile=2)

# instances keeps in the variable text how many instances of a function there are at most. The last entry counts.
instances() {
  local entry
  for entry in "${max_instances[@]}"; do
    [ "${entry%%=*}" != "$1" ] || text=${entry#*=}
  done
}

# How many requests one instance of Effects gets at once. Half of them may wait inside it.
effects_slots=20

# When Cloud Run ends a request to Effects, which is told so too: what it cannot do in that time it hands on.
effects_timeout=540s
# Of the 512 MiB that deploy asks for Go uses 70 %; the function holds large items in a sixth of that.
effects_memory_limit=358MiB

# deployed_value keeps in the variable text what the deployment itself sets a setting to. Every function that answers with
# one value does so, and prints nothing: a process for each of some hundred values is most of the time that the scripts
# take by themselves. Any other function that calls one has a text of its own, because its caller may still need the last
# answer.
text=''
deployed_value() {
  case $1 in
    GOOGLE_CLOUD_PROJECT) text=$project ;;
    OPLEDGER_STORE) text=$store ;;
    OPLEDGER_TOPIC) text=$topic ;;
    OPLEDGER_WEBHOOK_SECRET) text=projects/$project/secrets/$webhook_secret ;;
    OPLEDGER_GEMINI_API_KEY_SECRET) text=projects/$project/secrets/$gemini_secret ;;
    OPLEDGER_EFFECTS_SLOTS) text=$effects_slots ;;
    OPLEDGER_EFFECTS_TIMEOUT) text=$effects_timeout ;;
    GOMEMLIMIT) text=$effects_memory_limit ;;
    OPLEDGER_EFFECT_SECRET) text=projects/$project/secrets/$effect_secret ;;
    OPLEDGER_JOB_STORAGE) text=gs://$job_bucket ;;
    *) return 1 ;;
  esac
}

# read_tables keeps what scripts/stage/ask tables prints, in a variable for each kind of entries; table prints the entries of one
# kind, without that word.
read_tables() {
  local tables kind entry variable
  tables=$(go run ./scripts/stage/ask tables) || fail "the tables in infra/ cannot be read; that needs Go: https://go.dev/dl"
  while read -r kind entry; do
    variable=table_$kind
    printf -v "$variable" '%s%s\n' "${!variable-}" "$entry"
  done <<<"$tables"
}
table() {
  local variable=table_$1
  printf %s "${!variable-}"
}

# With --dry-run commands are printed instead of run. What is printed is itself a script; run, it does what the real run does.
dry_run=''

# unknown stands for an output that is known only when the command has run.
unknown() { printf '\001%s\001' "$1"; }

# quoted prints arguments as a shell reads them back.
quoted() {
  local argument separator=''
  for argument; do
    if ! [[ $argument =~ ^[A-Za-z0-9_./:,=%+@-]+$ ]]; then
      argument=\'${argument//\'/\'\\\'\'}\'
      while [[ $argument =~ $'\001'([a-z_]+)$'\001' ]]; do
        argument=${argument//"${BASH_REMATCH[0]}"/\'\"\$"${BASH_REMATCH[1]}"\"\'}
      done
    fi
    printf '%s%s' "$separator" "$argument"
    separator=' '
  done
}

# repeated OPTION VALUE… prints an option with each of the values, as on a command line.
repeated() {
  local option=$1 value
  shift
  for value; do printf ' %s %s' "$option" "$(quoted "$value")"; done
}

# The effects as they are, and without what looks like a secret in them. shown prints arguments with the one for the other.
plain_effects='' masked_effects=''
shown() {
  local argument arguments=()
  for argument; do
    [ -z "$plain_effects" ] || argument=${argument//"$plain_effects"/"$masked_effects"}
    arguments+=("$argument")
  done
  quoted "${arguments[@]}"
}

# run prints a command and runs it patiently. What looks like a secret in an effect is printed with --dry-run alone, as
# another deployment would come of it otherwise.
run() {
  if [ -n "$dry_run" ]; then
    quoted patiently "$@"
    printf '\n'
  else
    { printf '+ '; shown "$@"; printf '\n'; } >&2
    patiently "$@"
  fi
}

# gc runs gcloud in the project. gcloud never asks; these scripts ask before.
gc() { run gcloud "$@" "--project=$project" --quiet; }

# capture keeps what gcloud prints in a variable.
capture() { keep "$1" gcloud "${@:2}" "--project=$project" --quiet; }

# keep keeps what any command prints in a variable.
keep() {
  local variable=$1 value
  shift
  if [ -n "$dry_run" ]; then
    printf '%s=%s\n' "$variable" "\$($(quoted patiently "$@"))"
    value=$(unknown "$variable")
  else
    value=$(patiently "$@")
  fi
  printf -v "$variable" '%s' "$value"
}

# unless_there CHECK… -- COMMAND… runs a command of gcloud if another fails, to make what is not there yet; if_there the
# other way round, to change or delete only what is there.
unless_there() { depending '!' "$@"; }
if_there() { depending '' "$@"; }

depending() {
  local not=$1 check=(gcloud)
  shift
  while [ "$1" != -- ]; do
    check+=("$1")
    shift
  done
  shift
  check+=("--project=$project" --quiet)
  if [ -n "$dry_run" ]; then
    printf 'if %s' "${not:+! }"; quoted "${check[@]}"; printf ' >/dev/null 2>&1; then\n  '; gc "$@"; printf 'fi\n'
  elif "${check[@]}" >/dev/null 2>&1; then
    [ -n "$not" ] || gc "$@"
  else
    [ -z "$not" ] || gc "$@"
  fi
}

# matches LINES PATTERN reports whether a line matches. It starts no grep, because a process for each of some hundred patterns is
# most of the time that the scripts take by themselves.
matches() {
  local line result=1 IFS=$'\n'
  set -f
  for line in $1; do
    if [[ $line =~ $2 ]]; then
      result=0
      break
    fi
  done
  set +f
  return "$result"
}

# holds LINES LINE reports whether it is one of them.
holds() { [[ $'\n'$1$'\n' == *$'\n'"$2"$'\n'* ]]; }

# unless_listed VARIABLE PATTERN COMMAND… runs a command, one of those that run or print, if no line of a captured list
# matches; if_listed if one does.
unless_listed() { listing '!' "$@"; }
if_listed() { listing '' "$@"; }

listing() {
  local not=$1 list=$2 pattern=$3
  shift 3
  if [ -n "$dry_run" ]; then
    printf 'if %sgrep -qE ' "${not:+! }"; quoted "$pattern"; printf ' <<<"$%s"; then\n  ' "$list"; "$@"; printf 'fi\n'
  elif matches "${!list}" "$pattern"; then
    [ -n "$not" ] || "$@"
  else
    [ -z "$not" ] || "$@"
  fi
}

# request METHOD URL [DATA] calls one of Google's APIs and prints the answer. The variable token has gcloud's
# token, which is on no command line.
token=''
request() {
  local answer
  answer=$(
    shopt -s lastpipe 2>/dev/null # saves a process; before bash 4.2 there is no such option
    printf 'Authorization: Bearer %s\n' "$token" |
      curl --silent --show-error --fail-with-body --request "$1" --header @- --header 'Content-Type: application/json' \
        --header "x-goog-user-project: $project" ${3:+--data "$3"} "$2"
  ) || {
    printf '%s %s: %s\n' "$1" "${2%%\?*}" "$answer" >&2
    return 1
  }
  printf '%s\n' "$answer"
}
