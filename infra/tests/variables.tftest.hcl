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

run "a_prefix_names_everything" {
  state_key = "staging" # a deployment keeps the prefix of its first apply

  variables {
    name_prefix        = "staging"
    firestore_database = "staging"
    sign_effects       = true
  }

  assert {
    condition = alltrue([
      for name in concat([
        google_cloudfunctions2_function.webhook.name, google_cloudfunctions2_function.register.name, google_cloudfunctions2_function.reconcile.name,
        google_cloudfunctions2_function.effects.name, google_pubsub_topic.effects.name, google_pubsub_topic.dead.name, google_pubsub_subscription.effects.name,
        google_pubsub_subscription.dead.name, google_cloud_scheduler_job.reconcile.name, google_secret_manager_secret.webhook.secret_id,
        google_secret_manager_secret.gemini_api_key.secret_id, google_secret_manager_secret.effect[0].secret_id, google_service_account.webhook.account_id,
        google_service_account.register.account_id, google_service_account.reconcile.account_id, google_service_account.effects.account_id,
        google_service_account.push.account_id, google_service_account.scheduler.account_id, google_service_account.build.account_id,
        google_artifact_registry_repository.functions.repository_id, trimprefix(google_storage_bucket.source.name, "a-project-"),
        ], [for metric in google_logging_metric.this : metric.name], [for policy in google_monitoring_alert_policy.signal : policy.display_name],
      [for metric in google_logging_metric.this : regex("(?:service_name=\\(|job_id=)\"([^\"]+)\"", metric.filter)[0]]) :
      startswith(name, "staging")
    ])
    error_message = "Two environments in a project must not share a name."
  }

  assert {
    condition     = google_cloudfunctions2_function.register.service_config[0].environment_variables.OPLEDGER_STORE == "firestore:staging" && google_cloudfunctions2_function.register.service_config[0].environment_variables.OPLEDGER_TOPIC == "staging-effects"
    error_message = "Nor a ledger, nor a topic."
  }

  assert {
    condition = [
      google_secret_manager_secret.webhook.secret_id, google_secret_manager_secret.gemini_api_key.secret_id, google_secret_manager_secret.effect[0].secret_id,
      google_pubsub_topic.dead.name, google_pubsub_subscription.effects.name, google_pubsub_subscription.dead.name, google_cloud_scheduler_job.reconcile.name,
      ] == [
      "staging-webhook-secret", "staging-gemini-api-key", "staging-effect-secret",
      "staging-effects-dead", "staging-effects", "staging-effects-dead", "staging-reconcile",
    ]
    error_message = "scripts/ knows these names."
  }
}

run "outputs_say_what_to_type_next" {
  variables {
    register_callers = ["user:a@example.com", "group:b@example.com"]
    results_buckets  = ["my-results"]
  }

  assert {
    condition     = endswith(output.next, " --database 'opledger' --register-caller 'user:a@example.com' --register-caller 'group:b@example.com' --results-bucket my-results\n")
    error_message = "Doctor must know who was meant to be granted something: ${output.next}"
  }

  assert {
    condition     = strcontains(output.next, "gcloud scheduler jobs run opledger-reconcile --location=europe-west1") && strcontains(output.next, "webhook create")
    error_message = "The next commands must be there."
  }

  assert {
    condition = (strcontains(output.environment, "export OPLEDGER_WEBHOOK_URL='${google_cloudfunctions2_function.webhook.service_config[0].uri}'\n") &&
    output.webhook_url == google_cloudfunctions2_function.webhook.service_config[0].uri)
    error_message = "The commands' settings must be this deployment's."
  }

  assert {
    condition     = !strcontains(output.environment, "OPLEDGER_GRACE") && strcontains(output.environment, "export OPLEDGER_INTERVAL='5m'\n")
    error_message = "What is not set must be left to the code."
  }
}

# A test lets bash read environment.txt.
run "commands_are_told_what_the_functions_are" {
  variables {
    effects              = "- {name: \"it's\", on: [SUCCEEDED], do: http, url: \"https://e.example/?a=$HOME&b=`id`\"}\n- {name: b, on: [FAILED], do: log}\n"
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
    prices               = "gemini-3.5-flash=1/6 gemini-3.5-pro=1/6"
    job_bucket           = "a-jobs"
    restored_at          = "2026-11-21T14:00:00Z"
    terminal_transitions = "FAILED:SUCCEEDED"
    webhook              = "static"
    webhook_url          = "https://gateway.example/webhook"
    webhook_reenable     = true
    adopt                = false
    gemini_base_url      = "https://gemini.example"
  }

  expect_failures = [check.effects_hold_no_secret]

  assert {
    condition     = output.environment == file("./tests/environment.txt")
    error_message = "The output environment must be as in tests/environment.txt, not ${output.environment}"
  }

  assert {
    condition = alltrue(flatten([
      for f in [google_cloudfunctions2_function.webhook, google_cloudfunctions2_function.register, google_cloudfunctions2_function.reconcile, google_cloudfunctions2_function.effects] :
      [
        for name, value in f.service_config[0].environment_variables : value == (name == "OPLEDGER_EFFECTS" ? var.effects : local.commands[name])
        if contains(keys(local.commands), name)
      ]
    ]))
    error_message = "The commands and the functions must be told the same; of the effects the commands are not told what looks like a secret."
  }
}

# The cases of shared/effect/spec.
run "what_looks_like_a_secret_is_masked" {
  variables {
    effects = join("", [for i, case in jsondecode(file("./tests/masked.json")) : "- name: c${i}\n  text: |\n    ${replace(case.text, "\n", "\n    ")}\n"])
  }

  expect_failures = [check.effects_hold_no_secret]

  assert {
    condition     = local.masked_effects == join("", [for i, case in jsondecode(file("./tests/masked.json")) : "- name: c${i}\n  text: |\n    ${replace(case.masked, "\n", "\n    ")}\n"])
    error_message = "It is masked as ${local.masked_effects}"
  }
}

run "a_prefix_too_long_is_refused" {
  command = plan
  variables {
    name_prefix = "a-prefix-of-more-than-20"
  }
  expect_failures = [var.name_prefix]
}

run "a_retention_shorter_than_gemini_repeats_is_refused" {
  command = plan
  variables {
    retention = "23h59m59.9s"
  }
  expect_failures = [var.retention]
}

run "a_retention_of_a_day_is_long_enough" {
  command = plan
  variables {
    retention = "23h59m59s1000ms"
  }

  assert {
    condition     = google_cloudfunctions2_function.effects.service_config[0].environment_variables.OPLEDGER_RETENTION == "23h59m59s1000ms"
    error_message = "A retention of 24 hours must be taken as it is."
  }
}

run "durations_of_nothing_are_refused" {
  command = plan
  variables {
    grace       = "0s"
    stuck_after = "0h0m"
    alert_every = "0s"
    retention   = "0s"
    claim_ttl   = "0s"
    tolerance   = "0.0s"

    webhook_timeout     = "0s"
    lookup_max_interval = "0s"
  }
  expect_failures = [var.grace, var.stuck_after, var.lookup_max_interval, var.alert_every, var.retention, var.claim_ttl, var.tolerance, var.webhook_timeout]
}

run "a_maximum_below_the_interval_is_refused" {
  command = plan
  variables {
    interval            = "10m"
    lookup_max_interval = "9m59s"
  }
  expect_failures = [var.lookup_max_interval]
}

run "an_interval_that_no_schedule_has_is_refused" {
  command = plan
  variables {
    interval = "7m"
  }
  expect_failures = [var.interval]
}

run "what_cannot_be_is_refused" {
  command = plan
  variables {
    project               = "My Project"
    region                = "Europe"
    firestore_database    = "Ledger"
    register_callers      = ["allUsers"]
    notification_emails   = ["no-address"]
    notification_channels = ["7"]
    grace                 = "soon"
    stuck_after           = "6"
    alert_every           = "day"
    lookup_max_interval   = "1d"
    retention             = "14d"
    claim_ttl             = ""
    tolerance             = "5 m"
    webhook_timeout       = "60s"
    max_attempts          = 0
    retry_for             = "-1h"
    results_kept          = "6w"
    restored_at           = "yesterday"
    effects               = "@effects.yaml"
    terminal_transitions  = "SUCCEEDED"
    jwks_url              = "http://keys.example"
    confirm               = "sometimes"
    webhook               = "both"
    webhook_url           = "http://gateway.example"
    gemini_base_url       = "http://gemini.example"
    scaling               = { webhook = { max_instances = 0 } }
    results_buckets       = ["gs://my-results/reviews"]
    job_bucket            = "gs://my-jobs"
    max_batches           = 101
    enqueued_tokens       = "a-model=many"
    prices                = "gemini-3.5-flash=0.15"
    waits                 = { grants = 0.5 }
    effects_vpc           = { connector = "mine", egress = "ALL" }
  }
  expect_failures = [
    var.project, var.region, var.firestore_database, var.register_callers, var.notification_emails, var.notification_channels, var.grace, var.stuck_after,
    var.alert_every, var.lookup_max_interval, var.retention, var.claim_ttl, var.tolerance, var.webhook_timeout, var.max_attempts, var.retry_for, var.results_kept, var.restored_at, var.effects, var.terminal_transitions, var.jwks_url, var.confirm,
    var.webhook, var.webhook_url, var.gemini_base_url, var.scaling, var.results_buckets, var.job_bucket, var.max_batches, var.enqueued_tokens, var.prices, var.waits, var.effects_vpc,
  ]
}

run "packages_must_be_there" {
  command = plan
  variables {
    source_archive_dir = "./tests/nothing"
  }
  expect_failures = [var.source_archive_dir]
}
