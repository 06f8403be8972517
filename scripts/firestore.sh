# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # the names are for, and of, the scripts that read this file
# How deploy and doctor read and make the Firestore configuration that infra/firestore.json lists.

# How lists are printed, one index or field on each line:
#   operations COLLECTION_GROUP state,dueAt,__name__ ASCENDING,ASCENDING,ASCENDING READY
#   operations dueAt COLLECTION,COLLECTION,COLLECTION_GROUP READY,READY,READY
#   operations expireAt   ACTIVE
composite_format='value[separator=" "](name.segment(5),queryScope,fields.fieldPath.list(separator=","),fields.order.list(separator=","),state)'
fields_format='value[separator=" "](name.segment(5),name.segment(7),indexConfig.indexes.queryScope.list(separator=",")'
fields_format+=',indexConfig.indexes.state.list(separator=","),ttlConfig.state)'

# index_pattern, for an entry of the table such as "operations state:ascending,dueAt:ascending", prints what its line
# matches in the list of composite indexes, or of fields where it is an index of one field.
index_pattern() {
  local collection=$1 columns=$2 column names='' orders=''
  for column in ${columns//,/ }; do
    names+=,${column%:*} orders+=,${column#*:}
  done
  names=${names#,} orders=${orders#,}
  orders=${orders//ascending/ASCENDING} orders=${orders//descending/DESCENDING}
  case $columns in
    *,*) printf '^%s COLLECTION_GROUP %s(,__name__)? %s(,%s)? ' "$collection" "$names" "$orders" "${orders##*,}" ;;
    *) printf '^%s %s [A-Z_,]*COLLECTION_GROUP[A-Z_,]* ' "$collection" "$names" ;;
  esac
}
unindexed_pattern() { printf '^%s %s   ' "$1" "$2"; }
expiry_pattern() { printf '^%s %s   (CREATING|ACTIVE)$' "$1" "$2"; }

# unready LIST PATTERN prints the states of what matches in a list that are not those of something that serves; nothing if all are,
# or if nothing matches. READY is an index that serves, ACTIVE a TTL policy. The states are in the last column of composite indexes,
# whose second is a scope in capitals, and in the last two of fields.
unready() {
  pattern=$2 awk '$0 ~ ENVIRON["pattern"] {
    n = split($0, column, / /)
    m = split($2 ~ /^[A-Z_]+$/ ? column[n] : column[n - 1] "," column[n], state, /,/)
    for (i = 1; i <= m; i++) if (state[i] !~ /^(READY|ACTIVE|)$/ && !seen[state[i]]++) { printf "%s%s", separator, state[i]; separator = "," }
  }' <<<"$1"
}

# make_index makes one index of the table.
make_index() {
  local collection=$1 columns=$2 column flags=()
  case $columns in
    *,*)
      for column in ${columns//,/ }; do
        flags+=("--field-config=field-path=${column%:*},order=${column#*:}")
      done
      gc firestore indexes composite create "--database=$database" "--collection-group=$collection" \
        --query-scope=collection-group "${flags[@]}" --async
      ;;
    *) configure_field "$collection" "${columns%:*}" indexConfig "{\"indexConfig\":{\"indexes\":[$(field_indexes "$columns")]}}" ;;
  esac
}

# field_indexes prints the indexes of a field: those that every field has by itself, and the one of the collection group.
field_indexes() {
  local field=${1%:*} order
  order=$(tr '[:lower:]' '[:upper:]' <<<"${1#*:}")
  printf '{"queryScope":"COLLECTION","fields":[{"fieldPath":"%s","order":"ASCENDING"}]},' "$field"
  printf '{"queryScope":"COLLECTION","fields":[{"fieldPath":"%s","order":"DESCENDING"}]},' "$field"
  printf '{"queryScope":"COLLECTION_GROUP","fields":[{"fieldPath":"%s","order":"%s"}]}' "$field" "$order"
}

# configure_field COLLECTION FIELD MASK CONFIGURATION
configure_field() { run firestore_patch "projects/$project/databases/$database/collectionGroups/$1/fields/$2" "$3" "$4"; }

# firestore_patch does what gcloud cannot: it knows no index of one field in a collection group, no concurrency mode, and
# not a field's indexes and its TTL policy in one request.
firestore_patch() { request PATCH "https://firestore.googleapis.com/v1/$1?updateMask=$2" "$3" >/dev/null; }

# keep_backups PROJECT DATABASE DAYS makes, changes or deletes the daily backup schedule, so that backups
# are kept for so many days. Weekly schedules are left as they are.
keep_backups() {
  local schedules=(gcloud firestore backups schedules) where=("--project=$1" "--database=$2" --quiet) list id kept
  # "ID daily 604800s"; a weekly one has its day in the middle
  list=$("${schedules[@]}" list "${where[@]}" '--format=value[separator=" "](name.basename(),weeklyRecurrence.day.yesno(no=daily),retention)')
  read -r id kept <<<"$(sed -n 's/ daily / /p' <<<"$list")"
  if [ "$3" = 0 ]; then
    [ -z "$id" ] || "${schedules[@]}" delete "--backup-schedule=$id" "${where[@]}" --format=none
  elif [ -z "$id" ]; then
    "${schedules[@]}" create --recurrence=daily "--retention=$3d" "${where[@]}" --format=none
  elif [ "$kept" != "$(($3 * 86400))s" ]; then
    "${schedules[@]}" update "--backup-schedule=$id" "--retention=$3d" "${where[@]}" --format=none
  fi
}
