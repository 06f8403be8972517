#!/bin/sh
# Submits a batch, once for its id however often it is started: the protocol in three requests, for
# a language that has no client here.
# usage: sh submit.sh batch FILE ID, such as: sh submit.sh batch files/reviews reviews-2026-11-22
set -eu
: "${OPLEDGER_URL:=http://127.0.0.1:8080}" "${GOOGLE_GEMINI_BASE_URL:=https://generativelanguage.googleapis.com}"
if [ -z "${OPLEDGER_TOKEN:-}" ] && [ -n "${OPLEDGER_TOKEN_FILE:-}" ]; then OPLEDGER_TOKEN=$(cat "$OPLEDGER_TOKEN_FILE"); fi
auth=${OPLEDGER_TOKEN:+Authorization: Bearer $OPLEDGER_TOKEN}
kind=${1:-} file=${2:-} id=${3:-}
later="if it runs, a reconcile pass registers it; start this again, with the same id"

# Every mistake is said before anything is sent.
LC_ALL=C # a letter is one of A to Z
mistakes=
wrong() { echo "$1" >&2 && mistakes=1; }
[ "$kind" = batch ] || wrong "usage: sh submit.sh batch FILE ID"
case $id in '' | *[!A-Za-z0-9._-]*) wrong "the id $id is not 1 to 100 letters, digits, dots, underscores and hyphens" ;; esac
[ ${#id} -le 100 ] || wrong "the id $id has more than 100 letters"
case $file in '' | *[!A-Za-z0-9._/-]*) wrong "the file $file is not as Gemini names one, such as files/reviews" ;; esac
[ -n "${GEMINI_API_KEY:-}" ] || wrong "GEMINI_API_KEY is not set; opledger serve --simulate prints one"
case $OPLEDGER_URL in http://?* | https://?*) ;; *)
  wrong "OPLEDGER_URL is $OPLEDGER_URL; begin it with http:// or https://, as in http://127.0.0.1:8080" ;;
esac
case $GOOGLE_GEMINI_BASE_URL in http://?* | https://?*) ;; *)
  wrong "GOOGLE_GEMINI_BASE_URL is $GOOGLE_GEMINI_BASE_URL; begin it with http:// or https://" ;;
esac
[ -z "$mistakes" ] || exit 1

# What is secret goes to curl by a file descriptor, so that no list of processes shows it, and to this
# machine not through a proxy.
no_proxy="${no_proxy:-${NO_PROXY:-}},127.0.0.1,localhost,::1"
NO_PROXY=$no_proxy
export no_proxy NO_PROXY
# -q: a .curlrc could repeat a request.
opledger() { # opledger BODY [OPTION…]
  body=$1
  shift
  curl -q -sS --fail-with-body --max-time 60 "$@" "$OPLEDGER_URL/register" -H @/dev/fd/3 -H 'Content-Type: application/json' -d "$body" 3<<EOF
$auth
EOF
}

# 1. The intent. Whatever dies from here on, the batch is found by its id. The attempt tells this run
# from another; opledger says which of them may submit.
attempt=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
intent="{\"intent\":true,\"correlationId\":\"$id\",\"attempt\":\"$attempt\",\"jobKind\":\"example-batch\",\"collection\":\"batches\"}"
asked=$(date +%s)
answer=$(opledger "$intent" --retry 8 --retry-connrefused --retry-max-time 90) ||
  { echo "$id: nothing was submitted; opledger answered: $answer" >&2; exit 1; }
age=$(($(date +%s) - asked))
case $answer in
*'"verdict":"submit"'*)
  # What it allows is over after two minutes: later another run may be allowed to submit.
  if [ "$age" -lt 0 ] || [ "$age" -ge 120 ]; then
    echo "$id: nothing was submitted; opledger's answer took $age s; start this again in some minutes" >&2
    exit 1
  fi ;;
*'"verdict":"bound"'*) echo "$id was submitted before"; exit 0 ;;
*)
  wait=$(printf %s "$answer" | grep -o '"waitSeconds":[0-9]*' | tr -dc 0-9)
  echo "$id: an earlier run may have submitted it; start this again in ${wait:-300} s, with the same id" >&2
  exit 1 ;;
esac

withdraw() { opledger "${intent%?},\"withdraw\":true}" --retry 3 >/dev/null || echo "$id: only after some minutes"; }

# 2. The batch, with the id in it. This request is never repeated: Gemini runs, and charges for, both.
batch=$(curl -q -sS --fail-with-body --max-time 60 -w ' %{http_code}' \
  "$GOOGLE_GEMINI_BASE_URL/v1beta/models/gemini-3.5-flash:batchGenerateContent" \
  -H @/dev/fd/3 -H 'Content-Type: application/json' \
  -d "{\"batch\":{\"displayName\":\"reviews opledger:$id\",\"inputConfig\":{\"fileName\":\"$file\"},
      \"webhookConfig\":{\"userMetadata\":{\"opledger_correlation_id\":\"$id\"}}}}" 3<<EOF
x-goog-api-key: $GEMINI_API_KEY
EOF
) || {
  case $?-${batch##* } in
  [567]-*) # no host was found, or none answered the connection
    echo "$id: Gemini was not reached, and nothing runs; the id may be used again"
    withdraw ;;
  *-408 | *-499 | *-[!4]*) echo "$id: no answer says whether it was submitted ($batch); $later" ;;
  *)
    echo "$id: Gemini refused it, and nothing runs ($batch); the id may be used again"
    withdraw ;;
  esac >&2
  exit 1
}
name=$(printf %s "$batch" | grep -o '"batches/[^"]*"' | head -n 1 | tr -d '"')
: "${name:?Gemini answered without a name: $batch}"
echo "$name submitted" # whatever becomes of its registration

# 3. The registration. It is repeated while opledger is away.
answer=$(opledger "{\"name\":\"$name\",\"correlationId\":\"$id\"}" --retry 8 --retry-connrefused --retry-max-time 90) ||
  { echo "$id: $name runs, but is not registered ($answer); $later" >&2; exit 1; }
