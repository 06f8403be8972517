#!/bin/sh
# Submits a batch, once for its id however often it is started: the protocol in three requests, for
# a language that has no client here.
# usage: sh submit.sh batch FILE ID, such as: sh submit.sh batch files/reviews reviews-2026-11-22
set -eu
: "${OPLEDGER_URL:=http://127.0.0.1:8080}" "${GEMINI_API_KEY:?is not set; opledger serve --simulate prints one}"
: "${GOOGLE_GEMINI_BASE_URL:=https://generativelanguage.googleapis.com}"
if [ -z "${OPLEDGER_TOKEN:-}" ] && [ -n "${OPLEDGER_TOKEN_FILE:-}" ]; then OPLEDGER_TOKEN=$(cat "$OPLEDGER_TOKEN_FILE"); fi
auth=${OPLEDGER_TOKEN:+Authorization: Bearer $OPLEDGER_TOKEN}
file=${2:?which file, such as files/reviews?} id=${3:?which id of your own, which no other job has?}
LC_ALL=C # a letter is one of A to Z
case $id in *[!A-Za-z0-9._-]*) id= ;; esac
if [ -z "$id" ] || [ ${#id} -gt 100 ]; then
  echo "the id $3 is not 1 to 100 letters, digits, dots, underscores and hyphens" >&2
  exit 1
fi
case $file in *[!A-Za-z0-9._/-]*) echo "the file $file is not as Gemini names one, such as files/reviews" >&2; exit 1 ;; esac
later='its event or a reconcile pass registers it'

# 1. The intent. Whatever dies from here on, the batch is found by its id.
intent=$(curl -sS --fail-with-body -w ' %{http_code}' "$OPLEDGER_URL/register" \
  -H "$auth" -H 'Content-Type: application/json' \
  -d "{\"intent\":true,\"correlationId\":\"$id\",\"jobKind\":\"example-batch\",\"collection\":\"batches\"}") ||
  { echo "$id: nothing was submitted; opledger answered: $intent" >&2; exit 1; }
case $intent in
*' 201') ;; # recorded now
*'"state":"BOUND"'*) echo "$id was submitted before"; exit 0 ;;
*) echo "$id: an earlier run may have submitted it; if it runs, $later" >&2; exit 1 ;;
esac

# 2. The batch, with the id in it. This request is never repeated: Gemini runs, and charges for, both.
batch=$(curl -sS --fail-with-body -w ' %{http_code}' "$GOOGLE_GEMINI_BASE_URL/v1beta/models/gemini-3.5-flash:batchGenerateContent" \
  -H "x-goog-api-key: $GEMINI_API_KEY" -H 'Content-Type: application/json' \
  -d "{\"batch\":{\"displayName\":\"reviews opledger:$id\",\"inputConfig\":{\"fileName\":\"$file\"},
      \"webhookConfig\":{\"userMetadata\":{\"opledger_correlation_id\":\"$id\"}}}}") || {
  case ${batch##* } in
  408 | 499 | [!4]*) echo "$id: no answer says whether it was submitted ($batch); if it runs, $later" ;;
  *)
    echo "$id: Gemini refused it, and nothing runs ($batch); correct the request, and use another id," \
      "or this one after: opledger intent forget $id"
    ;;
  esac >&2
  exit 1
}
name=$(printf %s "$batch" | grep -o '"batches/[^"]*"' | head -n 1 | tr -d '"')
: "${name:?Gemini answered without a name: $batch}"
echo "$name submitted" # whatever becomes of its registration

# 3. The registration. It is repeated while opledger is away.
answer=$(curl -sS --fail-with-body --retry 5 --retry-connrefused "$OPLEDGER_URL/register" \
  -H "$auth" -H 'Content-Type: application/json' -d "{\"name\":\"$name\",\"correlationId\":\"$id\"}") ||
  { echo "$id: $name runs, but is not registered ($answer); $later" >&2; exit 1; }
