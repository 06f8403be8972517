# Which functions call Gemini with these settings: no other may read its API key. Reconcile always does. The
# scripts get the same answer from scripts/stage/ask needs; its test and Terraform's have the same cases.
locals {
  confirm = coalesce(var.confirm, "dynamic")

  # A delivery may be an unverified one, which Gemini confirms.
  webhook_asks_gemini = local.confirm == "always" || local.confirm == "dynamic" && trimspace(coalesce(var.webhook_audience, " ")) != ""

  # An effect fetches the result of a batch.
  effects_ask_gemini = anytrue([for effect in try(yamldecode(var.effects), []) : can(effect.each) || try(effect.do == "results", false)])
}
