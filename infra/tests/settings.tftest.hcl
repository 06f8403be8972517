mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

variables {
  project             = "a-project"
  source_archive_dir  = "./tests/source"
  notification_emails = ["ops@example.com"]
  delete_protection   = false                       # the end of a test deletes what was made
  waits               = { grants = 0, metrics = 0 } # nothing is new to a mock
}

run "settings_that_the_deployment_makes" {
  assert {
    condition = google_cloudfunctions2_function.webhook.service_config[0].environment_variables == tomap({
      GOOGLE_CLOUD_PROJECT           = "a-project"
      OPLEDGER_STORE                 = "firestore:opledger"
      OPLEDGER_TOPIC                 = "opledger-effects"
      OPLEDGER_WEBHOOK_SECRET        = "projects/a-project/secrets/opledger-webhook-secret"
      OPLEDGER_GEMINI_API_KEY_SECRET = "projects/a-project/secrets/opledger-gemini-api-key"
      OPLEDGER_INTERVAL              = "5m"
    })
    error_message = "What is not set must be left to the code: ${jsonencode(google_cloudfunctions2_function.webhook.service_config[0].environment_variables)}"
  }

  assert {
    condition     = google_cloudfunctions2_function.reconcile.service_config[0].environment_variables.OPLEDGER_WEBHOOK_URL == google_cloudfunctions2_function.webhook.service_config[0].uri
    error_message = "Reconcile must know where the webhook is."
  }

  assert {
    condition     = google_cloudfunctions2_function.effects.service_config[0].environment_variables.OPLEDGER_EFFECTS_TIMEOUT == "${google_cloudfunctions2_function.effects.service_config[0].timeout_seconds}s"
    error_message = "Effects must know when the platform ends a request."
  }

  assert {
    condition     = google_cloudfunctions2_function.effects.service_config[0].timeout_seconds < google_pubsub_subscription.effects.ack_deadline_seconds
    error_message = "A message must not be redelivered while it may still be worked on."
  }

  assert {
    condition     = !contains(keys(google_cloudfunctions2_function.effects.service_config[0].environment_variables), "OPLEDGER_EFFECT_SECRET")
    error_message = "Without sign_effects there is no secret to name."
  }
}

run "every_setting_reaches_the_functions_that_use_it_and_no_other" {
  variables {
    interval             = "10m"
    grace                = "91s"
    stuck_after          = "7h"
    alert_every          = "25h"
    lookup_max_interval  = "2h"
    retention            = "337h"
    claim_ttl            = "601s"
    max_attempts         = 11
    retry_for            = "23h"
    results_kept         = "1009h"
    max_batches          = 81
    enqueued_tokens      = "a-model=1000 another=2000"
    prices               = "gemini-3.5-flash=1/6"
    job_bucket           = "a-jobs"
    restored_at          = "2026-11-21T14:00:00Z"
    effects              = "[{name: a, on: [SUCCEEDED], do: log}]"
    terminal_transitions = "FAILED:SUCCEEDED"
    tolerance            = "6m"
    webhook_timeout      = "11s"
    webhook_audience     = "https://a.example https://b.example"
    webhook_issuer       = "https://issuer.example"
    jwks_url             = "https://keys.example/jwks"
    confirm              = "always"
    webhook              = "static"
    webhook_url          = "https://gateway.example/webhook"
    webhook_reenable     = true
    adopt                = true
    gemini_base_url      = "https://gemini.example"
    effect_allow_private = true
    effects_paused       = true
    sign_effects         = true
  }

  assert {
    condition = alltrue([
      for name, f in {
        webhook   = google_cloudfunctions2_function.webhook, register = google_cloudfunctions2_function.register,
        reconcile = google_cloudfunctions2_function.reconcile, effects = google_cloudfunctions2_function.effects,
      } :
      toset(keys(f.service_config[0].environment_variables)) == toset([
        for setting in jsondecode(file("./settings.json")) : setting.name if setting.set != "never" && contains(setting.functions, name)
      ])
    ])
    error_message = "settings.json says which function uses which setting."
  }

  assert {
    condition = alltrue([
      for name, want in {
        OPLEDGER_INTERVAL             = "10m", OPLEDGER_GRACE = "91s", OPLEDGER_STUCK_AFTER = "7h", OPLEDGER_ALERT_EVERY = "25h"
        OPLEDGER_LOOKUP_MAX_INTERVAL  = "2h"
        OPLEDGER_RETENTION            = "337h", OPLEDGER_CLAIM_TTL = "601s", OPLEDGER_MAX_ATTEMPTS = "11", OPLEDGER_RETRY_FOR = "23h"
        OPLEDGER_RESULTS_KEPT         = "1009h", OPLEDGER_MAX_BATCHES = "81", OPLEDGER_JOB_STORAGE = "gs://a-jobs"
        OPLEDGER_ENQUEUED_TOKENS      = "a-model=1000 another=2000"
        OPLEDGER_PRICES               = "gemini-3.5-flash=1/6"
        OPLEDGER_RESTORED_AT          = "2026-11-21T14:00:00Z"
        OPLEDGER_EFFECTS              = "[{name: a, on: [SUCCEEDED], do: log}]"
        OPLEDGER_TERMINAL_TRANSITIONS = "FAILED:SUCCEEDED", OPLEDGER_TOLERANCE = "6m", OPLEDGER_WEBHOOK_TIMEOUT = "11s"
        OPLEDGER_WEBHOOK_AUDIENCE     = "https://a.example https://b.example", OPLEDGER_WEBHOOK_ISSUER = "https://issuer.example"
        OPLEDGER_JWKS_URL             = "https://keys.example/jwks", OPLEDGER_CONFIRM = "always"
        OPLEDGER_WEBHOOK_URL          = "https://gateway.example/webhook", OPLEDGER_WEBHOOK_REENABLE = "true", OPLEDGER_ADOPT = "true"
        GOOGLE_GEMINI_BASE_URL        = "https://gemini.example", OPLEDGER_WEBHOOK = "static"
        OPLEDGER_EFFECT_ALLOW_PRIVATE = "true", OPLEDGER_EFFECTS_PAUSED = "true"
        OPLEDGER_EFFECT_SECRET        = "projects/a-project/secrets/opledger-effect-secret"
      } :
      contains(flatten([
        for f in [google_cloudfunctions2_function.webhook, google_cloudfunctions2_function.register, google_cloudfunctions2_function.reconcile, google_cloudfunctions2_function.effects] :
        try([f.service_config[0].environment_variables[name]], [])
      ]), want)
    ])
    error_message = "Each setting must be what its variable says."
  }

  assert {
    condition     = toset(keys(local.values)) == toset([for setting in jsondecode(file("./settings.json")) : setting.name if setting.set != "never"])
    error_message = "settings.tf and settings.json must list the same."
  }
}

run "false_is_a_setting" {
  variables {
    effects_paused = false
  }

  assert {
    condition     = google_cloudfunctions2_function.effects.service_config[0].environment_variables.OPLEDGER_EFFECTS_PAUSED == "false"
    error_message = "false is not the same as not set."
  }
}
