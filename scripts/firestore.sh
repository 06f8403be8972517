# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # the names are for, and of, the scripts that read this file
# How deploy and doctor read and make the Firestore configuration that infra/firestore.json lists.

# How lists are printed, one index or field on each line:
#   operations COLLECTION_GROUP state,dueAt,__name__ ASCENDING,ASCENDING,ASCENDING READY
#   effects createdAt COLLECTION,COLLECTION ASCENDING,DESCENDING READY,READY
#   operations expireAt    ACTIVE
#   operations *
composite_format='value[separator=" "](name.segment(5),queryScope,fields.fieldPath.list(separator=","),fields.order.list(separator=","),state)'
fields_format='value[separator=" "](name.segment(5),name.segment(7),indexConfig.indexes.queryScope.list(separator=",")'
fields_format+=',indexConfig.indexes.fields.order.flatten(),indexConfig.indexes.state.list(separator=","),ttlConfig.state)'

# index_pattern, for an entry of the table such as "operations state:ascending,dueAt:ascending", prints what its line
# matches in the list of composite indexes.
index_pattern() {
  local collection=$1 columns=$2 column names='' orders=''
  for column in ${columns//,/ }; do
    names+=,${column%:*} orders+=,${column#*:}
  done
  names=${names#,} orders=${orders#,}
  orders=${orders//ascending/ASCENDING} orders=${orders//descending/DESCENDING}
  printf '^%s COLLECTION_GROUP %s(,__name__)? %s(,%s)? ' "$collection" "$names" "$orders" "${orders##*,}"
}

# field_pattern, for an entry such as "effects createdAt COLLECTION:ASCENDING,COLLECTION:DESCENDING", prints what its line matches
# in the list of fields: these indexes, one or two, and no other. Google lists them in any order.
field_pattern() {
  [[ $3 != *,*,* ]] || { echo "field_pattern knows two indexes at most, not $3" >&2; return 1; }
  local first=${3%%,*} second=${3#*,}
  if [ "$first" = "$3" ]; then
    printf '^%s %s %s %s ' "$1" "$2" "${first%:*}" "${first#*:}"
  else
    printf '^%s %s (%s,%s %s,%s|%s,%s %s,%s) ' "$1" "$2" "${first%:*}" "${second%:*}" "${first#*:}" "${second#*:}" \
      "${second%:*}" "${first%:*}" "${second#*:}" "${first#*:}"
  fi
}
unindexed_pattern() { printf '^%s %s    ' "$1" "${2/\*/[*]}"; }
expiry_pattern() { printf '^%s %s    (CREATING|ACTIVE)$' "$1" "$2"; }

# unready LIST PATTERN keeps in the variable text the states of what matches in a list that are not those of something that serves;
# nothing if all are, or if nothing matches. READY is an index that serves, ACTIVE a TTL policy. The states are in the last column
# of composite indexes, whose second is a scope in capitals, and in the last two of fields.
unready() {
  local line second states state IFS=$'\n'
  text=''
  set -f
  for line in $1; do
    [[ $line =~ $2 ]] || continue
    states=${line##* } second=${line#* }
    [[ ${second%% *} =~ ^[A-Z_]+$ ]] || line=${line% *} states=${line##* },$states
    IFS=,
    for state in $states; do
      [[ -z $state || $state =~ ^(READY|ACTIVE)$ || ,$text, == *,"$state",* ]] || text+=${text:+,}$state
    done
    IFS=$'\n'
  done
  set +f
}

# make_index makes one index of several fields.
make_index() {
  local collection=$1 columns=$2 column flags=()
  for column in ${columns//,/ }; do
    flags+=("--field-config=field-path=${column%:*},order=${column#*:}")
  done
  gc firestore indexes composite create "--database=$database" "--collection-group=$collection" \
    --query-scope=collection-group "${flags[@]}" --async
}

# make_field gives a field its indexes, and takes all others off.
make_field() {
  local index indexes=''
  for index in ${3//,/ }; do
    indexes+="${indexes:+,}{\"queryScope\":\"${index%:*}\",\"fields\":[{\"fieldPath\":\"$2\",\"order\":\"${index#*:}\"}]}"
  done
  configure_field "$1" "$2" indexConfig "{\"indexConfig\":{\"indexes\":[$indexes]}}"
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
