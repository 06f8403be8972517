# Who asks Gemini, with the settings that there are: no one else may read its key. Reconcile always does. scripts/stage/needs says the
# same to the scripts, and its test has the same cases as the one of these.
locals {
  confirm = coalesce(var.confirm, "dynamic")

  # A delivery may be an unverified one, which Gemini confirms.
  webhook_asks_gemini = local.confirm == "always" || local.confirm == "dynamic" && trimspace(coalesce(var.webhook_audience, " ")) != ""

  # An effect fetches the result of a batch.
  effects_ask_gemini = anytrue([for effect in try(yamldecode(var.effects), []) : can(effect.each) || try(effect.do == "results", false)])
}
