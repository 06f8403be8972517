# shellcheck shell=bash
# How deploy and teardown wait until something new is effective in Google Cloud: they retry, if the error says so.

# waits_for TEXT prints what to wait for, if an error of Google's with this text is temporary.
waits_for() {
  case $1 in
    *'underlying data changed'* | *'cross-transaction contention'* | *'too much contention'*)
      printf 'Firestore to finish another change of its indexes' ;;
    *'Cannot find metric'* | *'The metric referenced by the provided filter is unknown'*)
      printf 'Cloud Monitoring to find a new metric, which can take ten minutes' ;;
    *'too many concurrent edits'*) printf 'Cloud Monitoring to finish another change' ;;
    *'ervice account '*' does not exist'*) printf 'a new service account to be known everywhere' ;;
    *'has not been used in project '*' before or it is disabled'* | *SERVICE_DISABLED*)
      printf 'a new API to be enabled everywhere' ;;
    *'missing permission on the build service account'* | *'Access to bucket '*' denied'* | \
      *'artifactregistry.repositories.uploadArtifacts'*denied* | *'Unable to retrieve the repository metadata'*)
      printf 'the roles of the build account to be known everywhere' ;;
    *'unable to queue the operation'*) printf 'another deployment of this function to end' ;;
    *'Build Create requests'* | *'no concurrent builds quota available'*) printf 'the quota of builds to have room' ;;
    *) return 1 ;;
  esac
}

# remedy_for TEXT prints what to do about an error of Google's with this text, if waiting does not help and the text does not say it.
remedy_for() {
  case $1 in
    *CpuAllocPerProjectRegion* | *MemAllocPerProjectRegion* | *'maxScale may not exceed'* | *'Max instances must be set to'*)
      printf 'the project has less vCPU in this region than the function may use: deploy with a smaller --max-instances, or ask for more at https://console.cloud.google.com/iam-admin/quotas' ;;
    *'cannot run builds in this region'* | *'no concurrent builds quota available'*)
      printf 'some projects build in six regions only: us-central1, us-west2, europe-west1, asia-east1, australia-southeast1 and southamerica-east1: deploy with --region, or ask Google to lift it; see infra/limits/README.md' ;;
    *) return 1 ;;
  esac
}

# patiently COMMAND… runs a command. If it fails with an error that waits_for knows, it is retried after 10 s, 20 s,
# 40 s and then every 60 s, for ten minutes. Any other error is returned at once, with the remedy that remedy_for knows.
patiently() {
  local said line status what remedy pause=10 waited=0
  while :; do
    said=''
    # Behind all that the command says comes \001 and its exit code; a function that ends by itself says none.
    while IFS= read -r line; do
      printf '%s\n' "$line" >&2
      said+=$line$'\n'
    done 3>&1 < <(set +e; "$@" 2>&1 >&3; printf '\001%s' "$?")
    case $line in *$'\001'*) ;; *) line+=$'\0011' ;; esac
    status=${line##*$'\001'} line=${line%$'\001'*}
    [ -z "$line" ] || { printf '%s\n' "$line" >&2; said+=$line; }
    [ "$status" != 0 ] || return 0
    what=$(waits_for "$said") || what=''
    if [ -z "$what" ] || [ "$waited" -ge 600 ]; then
      [ -z "$what" ] || printf 'gave up after %s s of waiting for %s; run it again later\n' "$waited" "$what" >&2
      ! remedy=$(remedy_for "$said") || printf '%s\n' "$remedy" >&2
      return "$status"
    fi
    printf 'waiting %s s for %s (%s of 600 s waited)\n' "$pause" "$what" "$waited" >&2
    sleep "$pause"
    waited=$((waited + pause)) pause=$((pause * 2 > 60 ? 60 : pause * 2))
  done
}
