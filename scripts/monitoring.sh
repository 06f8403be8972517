# shellcheck shell=bash
# shellcheck disable=SC2154 # the names are of the scripts that read this file
# How deploy, doctor and teardown use Cloud Monitoring; infra/signals.json and platform.json list what is monitored. They
# call its API, because older versions of gcloud have no alert policies.

# Who is notified: e-mail addresses, and existing notification channels.
notified=()

# add_notified reads one of them.
add_notified() {
  [[ $1 =~ ^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+$ || $1 =~ ^projects/[^/[:space:]]+/notificationChannels/[0-9]+$ ]] ||
    wrong "--notify takes an e-mail address, or a channel such as projects/my-project/notificationChannels/123, not $1"
  notified+=("$1")
}

# monitoring_list KIND prints the alertPolicies or notificationChannels of the project, each with how many channels it notifies:
#   projects/ID/alertPolicies/ID CHANNELS TITLE
monitoring_list() {
  local page='' answer fields=name,displayName
  [ "$1" != alertPolicies ] || fields=$fields,notificationChannels
  while :; do
    answer=$(request GET "https://monitoring.googleapis.com/v3/projects/$project/$1?pageSize=500&pageToken=${page//+/%2B}&fields=nextPageToken,$1($fields)") ||
      return
    awk '{ gsub(/,"/, ",\n\""); gsub(/[{]/, "\n"); print }' <<<"$answer" | awk -F '"' '
      $2 == "name" { name = $4 }
      $2 == "displayName" { title = $4 }
      $2 != "name" && /\/notificationChannels\// { channels++ }
      /}/ && name != "" { print name, channels + 0, title; name = title = ""; channels = 0 }'
    page=$(sed -n 's/.*"nextPageToken": *"\([^"]*\)".*/\1/p' <<<"$answer")
    [ -n "$page" ] || break
  done
}

# monitoring_name TITLE prints the name of what has the title, from a list as monitoring_list prints it; nothing if there is none.
monitoring_name() {
  local name title
  while read -r name _ title; do
    [ "$title" != "$1" ] || { printf '%s\n' "$name"; return; }
  done
}

# make_channels WHO… makes the notification channels of the e-mail addresses that have none, and prints the name of each.
make_channels() {
  local who name list title
  [ $# -gt 0 ] || return 0
  list=$(monitoring_list notificationChannels) || return
  for who; do
    name=$who title="$prefix: $who"
    if [[ $who != projects/* ]]; then
      name=$(monitoring_name "$title" <<<"$list")
      [ -n "$name" ] || name=$(request POST "https://monitoring.googleapis.com/v3/projects/$project/notificationChannels" \
        "{\"type\":\"email\",\"displayName\":\"$title\",\"labels\":{\"email_address\":\"$who\"},\"userLabels\":{\"app\":\"$prefix\"}}" |
        sed -n 's/.*"name": *"\([^"]*\)".*/\1/p') || return
      : "${name:?the answer has no name of the channel for $who}"
    fi
    printf '%s\n' "$name"
  done
}

# put_policy TITLE FILE makes the alert policy in the file, or changes the one that has the title; policies is the list of them.
put_policy() {
  local name
  name=$(monitoring_name "$1" <<<"$policies")
  if [ -n "$name" ]; then
    request PATCH "https://monitoring.googleapis.com/v3/$name" "@$2" >/dev/null
  else
    request POST "https://monitoring.googleapis.com/v3/projects/$project/alertPolicies" "@$2" >/dev/null
  fi
}

# delete_titled LIST PATTERN deletes those whose titles match, of the list in a variable, as monitoring_list prints it.
delete_titled() {
  local name title
  while read -r name _ title; do
    [[ ! $title =~ $2 ]] || request DELETE "https://monitoring.googleapis.com/v3/$name" >/dev/null || return
  done <<<"${!1}"
}
