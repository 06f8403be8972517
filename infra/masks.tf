# The effects without what looks like a secret in their URLs, for what is printed. opledger's commands plan by the rest of an effect
# and send nothing to its URL. The code has the same (shared/effect/spec/mask.go); both are tested with tests/masked.json.
locals {
  # A URL in YAML or JSON, in quotes or, up to what can end it there, without; or one character.
  effects_parts = var.effects == null ? [] : regexall(
    "(?i)\"https?://[^\"]*\"|'https?://[^']*'|https?://(?:[^\\s\"'<>,\\]}]|,[^\\s\"'<>,\\]}])+|(?s:.)", var.effects
  )

  # Of a URL: its quote, scheme, authority, path, what follows, and its quote.
  masked_effects = var.effects == null ? null : join("", [
    for part in local.effects_parts : try(join("", [
      for url in [regex("(?is)^([\"']?)(https?://)([^/?#\"']*)([^?#\"']*)(.*?)([\"']?)$", part)] : join("", [
        url[0], url[1],
        replace(url[2], "/^.*@/", "masked@"),
        join("/", [for segment in split("/", url[3]) : length(segment) >= 16 && can(regex("[0-9]", segment)) ? "masked" : segment]),
        replace(replace(url[4], "/=[^&#]+/", "=masked"), "/([?&])[^=&#]{16,}/", "$${1}masked"),
        url[5],
      ])
    ]), part)
  ])
}

check "effects_hold_no_secret" {
  assert {
    condition     = local.masked_effects == var.effects
    error_message = "The url of an effect seems to hold a secret. All functions are given it, and it stands in the state and in plans: store the URL in Secret Manager, and name the secret in urlSecret."
  }
}
