# What the functions read with these settings. No other may read the API key of Gemini; Reconcile always does. The
# scripts get the same answer from scripts/stage/ask needs; its test and Terraform's have the same cases.
locals {
  confirm = coalesce(var.confirm, "dynamic")

  # A delivery may be an unverified one, which Gemini confirms.
  webhook_asks_gemini = local.confirm == "always" || local.confirm == "dynamic" && trimspace(coalesce(var.webhook_audience, " ")) != ""

  # The secrets that effects name, which are the operator's own and may be in another project. Effects alone reads them.
  effect_secrets = toset(flatten([
    for effect in try(yamldecode(var.effects), []) : [
      for name in concat([try(effect.urlSecret, ""), try(effect.tokenSecret, "")], try(values(effect.headerSecrets), [])) :
      trimspace(name) if try(startswith(trimspace(name), "projects/"), false)
    ]
  ]))

  # An effect fetches the result of a batch, or there are jobs, whose batches Effects creates and reads.
  effects_ask_gemini = var.job_bucket != null || anytrue([for effect in try(yamldecode(var.effects), []) : can(effect.each) || try(effect.do == "results", false)])
}
