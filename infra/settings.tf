# settings.json lists the variables that each function reads. This file has their values; null leaves the
# code's default. A name in the table that is missing here fails the plan.
locals {
  settings = jsondecode(file("${path.module}/settings.json"))

  values = {
    GOOGLE_CLOUD_PROJECT           = var.project
    OPLEDGER_STORE                 = var.firestore_database == "(default)" ? "firestore" : "firestore:${var.firestore_database}"
    OPLEDGER_TOPIC                 = google_pubsub_topic.effects.name
    OPLEDGER_WEBHOOK_SECRET        = "projects/${var.project}/secrets/${google_secret_manager_secret.webhook.secret_id}"
    OPLEDGER_GEMINI_API_KEY_SECRET = "projects/${var.project}/secrets/${google_secret_manager_secret.gemini_api_key.secret_id}"
    OPLEDGER_EFFECT_SECRET         = one([for secret in google_secret_manager_secret.effect : "projects/${var.project}/secrets/${secret.secret_id}"])
    OPLEDGER_JOB_STORAGE           = one([for bucket in google_storage_bucket.jobs : "gs://${bucket.name}"])
    OPLEDGER_EFFECTS_SLOTS         = var.scaling.effects.concurrency
    OPLEDGER_EFFECTS_TIMEOUT       = "${local.effects_seconds}s"
    GOMEMLIMIT                     = "${floor(local.effects_mebibytes * 0.7)}MiB"
    OPLEDGER_WEBHOOK_URL           = var.webhook_url # null: reconcile.tf sets the function's own, which is not known before it is there
    OPLEDGER_WEBHOOK               = var.webhook
    OPLEDGER_TOLERANCE             = var.tolerance
    OPLEDGER_WEBHOOK_TIMEOUT       = var.webhook_timeout
    OPLEDGER_WEBHOOK_AUDIENCE      = var.webhook_audience
    OPLEDGER_WEBHOOK_ISSUER        = var.webhook_issuer
    OPLEDGER_JWKS_URL              = var.jwks_url
    OPLEDGER_CONFIRM               = var.confirm
    OPLEDGER_WEBHOOK_REENABLE      = var.webhook_reenable
    OPLEDGER_ADOPT                 = var.adopt
    GOOGLE_GEMINI_BASE_URL         = var.gemini_base_url
    OPLEDGER_GRACE                 = var.grace
    OPLEDGER_INTERVAL              = var.interval
    OPLEDGER_LOOKUP_MAX_INTERVAL   = var.lookup_max_interval
    OPLEDGER_STUCK_AFTER           = var.stuck_after
    OPLEDGER_ALERT_EVERY           = var.alert_every
    OPLEDGER_RETENTION             = var.retention
    OPLEDGER_CLAIM_TTL             = var.claim_ttl
    OPLEDGER_MAX_ATTEMPTS          = var.max_attempts
    OPLEDGER_RETRY_FOR             = var.retry_for
    OPLEDGER_RESULTS_KEPT          = var.results_kept
    OPLEDGER_MAX_BATCHES           = var.max_batches
    OPLEDGER_ENQUEUED_TOKENS       = var.enqueued_tokens
    OPLEDGER_PRICES                = var.prices
    OPLEDGER_RESTORED_AT           = var.restored_at
    OPLEDGER_EFFECTS               = var.effects
    OPLEDGER_TERMINAL_TRANSITIONS  = var.terminal_transitions
    OPLEDGER_EFFECT_ALLOW_PRIVATE  = var.effect_allow_private
    OPLEDGER_EFFECTS_PAUSED        = var.effects_paused
  }

  # The environment of each function.
  environment = {
    for function in ["webhook", "register", "reconcile", "effects"] : function => {
      for setting in local.settings : setting.name => tostring(local.values[setting.name])
      if setting.set != "never" && contains(setting.functions, function) && try(local.values[setting.name] != null, true)
    }
  }

  # The address that Gemini delivers to. It is not among the values above: the functions' own environment would depend on it.
  webhook_url = coalesce(var.webhook_url, google_cloudfunctions2_function.webhook.service_config[0].uri)

  # The settings for opledger's commands, so that they plan what the functions plan.
  commands = {
    for setting in local.settings : setting.name => tostring(merge(local.values, { OPLEDGER_WEBHOOK_URL = local.webhook_url, OPLEDGER_EFFECTS = local.masked_effects })[setting.name])
    if try(setting.commands, false)
  }

  runtime = trimspace(file("${path.module}/runtime.txt")) # for scripts/deploy, too
  labels  = { app = var.name_prefix }

  interval_minutes = tonumber(trimsuffix(var.interval, "m"))
}
