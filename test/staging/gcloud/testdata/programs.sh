# shellcheck shell=bash
# The simulated programs, as functions. Every bash that a test starts reads this file, because BASH_ENV names it. A function
# starts no process, and a deployment calls two hundred programs. For whatever is not bash, the same programs are files in PATH,
# in the folder bin, which call these functions.

# The world is a file of the test: a rule is an element in each of these arrays, and answers the calls whose command line
# matches the pattern, so many of them; 0 means all. The function candidates keeps in the array of that name the rules whose
# pattern begins as the line does: to try all of sixty patterns on each call would be half of the time of a script.
rule_pattern=() rule_out=() rule_err=() rule_code=() rule_times=()
# shellcheck source=/dev/null
. "$PRETENDED/world"

gcloud() { pretend gcloud "$@"; }
curl() { pretend curl "$@"; }
go() { pretend go "$@"; }
terraform() { pretend terraform "$@"; }
sleep() { pretend sleep "$@"; }

# pretend PROGRAM ARGUMENT… records a call and answers it by the first rule that matches, otherwise with nothing and success.
# A call is recorded as texts that end in NUL: the number of arguments, the arguments, the standard input of what reads it, the
# number of variables and the variables that opledger reads, of what asks the code about settings or Gemini.
pretend() {
  local IFS=' ' i stdin='' variable variables=() answered candidates=()
  local line=$*
  case $line in curl\ * | *--data-file=-*) IFS= read -r -d '' stdin || : ;; esac
  case $line in
    'go run ./scripts/stage/check '* | 'go run ./scripts/stage/ask needs' | 'go run ./scripts/opledger '*)
      for variable in "${!OPLEDGER_@}" "${!GOOGLE_@}" "${!GEMINI_@}"; do
        [[ ${!variable@a} != *x* ]] || variables+=("$variable=${!variable}")
      done
      ;;
  esac
  printf '%s\0' "$#" "$@" "$stdin" "${#variables[@]}" ${variables[@]+"${variables[@]}"} >>"$PRETENDED/calls"
  candidates "$line"
  for i in ${candidates[@]+"${candidates[@]}"}; do
    [[ $line =~ ${rule_pattern[i]} ]] || continue
    if [ "${rule_times[i]}" != 0 ]; then
      answered=''
      [ ! -e "$PRETENDED/answered.$i" ] || read -r answered <"$PRETENDED/answered.$i"
      [ "${#answered}" -lt "${rule_times[i]}" ] || continue
      printf '%sx\n' "$answered" >"$PRETENDED/answered.$i"
    fi
    printf %s "${rule_out[i]}"
    printf %s "${rule_err[i]}" >&2
    return "${rule_code[i]}"
  done
}
