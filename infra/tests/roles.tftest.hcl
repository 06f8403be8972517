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

run "roles_are_exactly_these" {
  variables {
    register_callers = ["serviceAccount:submitter@a-project.iam.gserviceaccount.com"]
    sign_effects     = true
    results_buckets  = ["a-results", "b-results"]
    job_bucket       = "a-jobs"
    confirm          = "always"
    effects          = "[{name: a, on: [SUCCEEDED], do: log, each: item}]"
  }

  assert {
    condition = toset([
      for binding in [
        google_project_iam_member.webhook_ledger, google_project_iam_member.register_ledger, google_project_iam_member.reconcile_ledger,
        google_project_iam_member.effects_ledger,
      ] : "${binding.role} ${binding.condition[0].expression}"
    ]) == toset(["roles/datastore.user resource.name == \"projects/a-project/databases/opledger\""])
    error_message = "A function may use the ledger's database, and no other of the project."
  }

  assert {
    condition = [
      google_project_iam_member.webhook_ledger.member, google_project_iam_member.register_ledger.member,
      google_project_iam_member.reconcile_ledger.member, google_project_iam_member.effects_ledger.member,
      ] == [
      google_service_account.webhook.member, google_service_account.register.member,
      google_service_account.reconcile.member, google_service_account.effects.member,
    ]
    error_message = "Each function has an account of its own."
  }

  assert {
    condition = [
      google_cloudfunctions2_function.webhook.service_config[0].service_account_email, google_cloudfunctions2_function.register.service_config[0].service_account_email,
      google_cloudfunctions2_function.reconcile.service_config[0].service_account_email, google_cloudfunctions2_function.effects.service_config[0].service_account_email,
      ] == [
      google_service_account.webhook.email, google_service_account.register.email, google_service_account.reconcile.email, google_service_account.effects.email,
    ]
    error_message = "Each function must run as its own account."
  }

  assert {
    condition = [
      for binding in [
        google_pubsub_topic_iam_member.webhook_publishes, google_pubsub_topic_iam_member.register_publishes,
        google_pubsub_topic_iam_member.reconcile_publishes, google_pubsub_topic_iam_member.effects_publishes,
      ] :
      "${binding.role} ${binding.topic} ${binding.member}"
      ] == [
      for member in [
        google_service_account.webhook.member, google_service_account.register.member,
        google_service_account.reconcile.member, google_service_account.effects.member,
      ] :
      "roles/pubsub.publisher opledger-effects ${member}"
    ]
    error_message = "The functions publish to the one topic: effects that they plan, and what Effects had no time for."
  }

  assert {
    condition = [
      for binding in [
        google_secret_manager_secret_iam_member.webhook_reads_secret, google_secret_manager_secret_iam_member.webhook_lists_secret,
        google_secret_manager_secret_iam_member.webhook_reads_key[0], google_secret_manager_secret_iam_member.reconcile_reads_key,
        google_secret_manager_secret_iam_member.reconcile_lists_secret, google_secret_manager_secret_iam_member.reconcile_reads_secret,
        google_secret_manager_secret_iam_member.effects_reads_key[0],
        google_secret_manager_secret_iam_member.effects_reads_secret[0],
      ] : "${binding.member} ${trimprefix(binding.role, "roles/secretmanager.")} ${binding.secret_id}"
      ] == [
      "${google_service_account.webhook.member} secretAccessor opledger-webhook-secret",
      "${google_service_account.webhook.member} viewer opledger-webhook-secret",
      "${google_service_account.webhook.member} secretAccessor opledger-gemini-api-key",
      "${google_service_account.reconcile.member} secretAccessor opledger-gemini-api-key",
      "${google_service_account.reconcile.member} viewer opledger-webhook-secret",
      "${google_service_account.reconcile.member} secretAccessor opledger-webhook-secret",
      "${google_service_account.effects.member} secretAccessor opledger-gemini-api-key",
      "${google_service_account.effects.member} secretAccessor opledger-effect-secret",
    ]
    error_message = "Each function may read its own secrets only."
  }

  assert {
    condition = toset([
      for binding in concat(values(google_storage_bucket_iam_member.effects_creates_results), values(google_storage_bucket_iam_member.effects_reads_results)) :
      "${binding.member} ${trimprefix(binding.role, "roles/storage.")} ${binding.bucket}"
      ]) == toset([
      "${google_service_account.effects.member} objectCreator a-results",
      "${google_service_account.effects.member} objectCreator b-results",
      "${google_service_account.effects.member} legacyObjectReader a-results",
      "${google_service_account.effects.member} legacyObjectReader b-results",
    ])
    error_message = "Effects may create objects in the buckets for results and read those: not list, not overwrite, not delete."
  }

  assert {
    condition = ["${google_storage_bucket_iam_member.effects_uses_jobs[0].member} ${google_storage_bucket_iam_member.effects_uses_jobs[0].role} ${google_storage_bucket_iam_member.effects_uses_jobs[0].bucket}"] == [
      "${google_service_account.effects.member} roles/storage.objectUser a-jobs"
    ]
    error_message = "Effects, and no other function, uses the bucket of jobs."
  }

  assert {
    condition = [
      for binding in [
        google_cloud_run_v2_service_iam_member.webhook_public[0],
        google_cloud_run_v2_service_iam_member.register_callers["serviceAccount:submitter@a-project.iam.gserviceaccount.com"],
        google_cloud_run_v2_service_iam_member.scheduler_calls_reconcile,
        google_cloud_run_v2_service_iam_member.push_calls_effects,
      ] : "${binding.role} ${binding.name} ${binding.member}"
      ] == [
      "roles/run.invoker opledger-webhook allUsers",
      "roles/run.invoker opledger-register serviceAccount:submitter@a-project.iam.gserviceaccount.com",
      "roles/run.invoker opledger-reconcile ${google_service_account.scheduler.member}",
      "roles/run.invoker opledger-effects ${google_service_account.push.member}",
    ]
    error_message = "Only the webhook is public."
  }

  assert {
    condition = (google_service_account_iam_member.pubsub_signs_as_push.role == "roles/iam.serviceAccountOpenIdTokenCreator" &&
    google_service_account_iam_member.pubsub_signs_as_push.service_account_id == google_service_account.push.name)
    error_message = "Pub/Sub may sign as the push account, and as no other."
  }

  assert {
    condition = (google_artifact_registry_repository_iam_member.build_writes.role == "roles/artifactregistry.writer" &&
      google_project_iam_member.build_logs.role == "roles/logging.logWriter" &&
      google_project_iam_member.build_reads_source.role == "roles/storage.objectViewer" &&
      google_project_iam_member.build_reads_source.condition[0].expression == join(" || ", [
        "resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-123456789012-europe-west1\")",
        "resource.name.startsWith(\"projects/_/buckets/gcf-v2-uploads-123456789012-europe-west1\")",
        "resource.name.startsWith(\"projects/_/buckets/run-sources-a-project-europe-west1\")",
    ]))
    error_message = "A build reads uploaded source from each bucket that Google names, writes images and logs."
  }
}

run "nobody_calls_register_unless_said" {
  assert {
    condition     = length(google_cloud_run_v2_service_iam_member.register_callers) == 0
    error_message = "Register must have no callers by default."
  }

  assert {
    condition     = length(google_secret_manager_secret_iam_member.effects_reads_secret) == 0 && length(google_secret_manager_secret_iam_member.effects_reads_own_secrets) == 0
    error_message = "Effects signs with no secret unless it is told to."
  }

  assert {
    condition     = length(google_storage_bucket_iam_member.effects_creates_results) == 0 && length(google_storage_bucket_iam_member.effects_reads_results) == 0
    error_message = "Effects writes to no bucket unless it is told to."
  }

  assert {
    condition     = length(google_storage_bucket.jobs) == 0 && length(google_storage_bucket_iam_member.effects_uses_jobs) == 0
    error_message = "There is no bucket for jobs unless one is named."
  }
}

run "nothing_is_public_where_that_is_forbidden" {
  variables {
    public_webhook = false
  }

  assert {
    condition     = length(google_cloud_run_v2_service_iam_member.webhook_public) == 0
    error_message = "public_webhook = false must leave allUsers out."
  }

  assert {
    condition     = length(google_monitoring_uptime_check_config.webhook) == 0 && length(google_monitoring_alert_policy.webhook_unreachable) == 0
    error_message = "A webhook that is not public cannot be checked from outside."
  }
}

# The cases of scripts/stage/ask needs.
run "the_key_is_for_reconcile_alone_by_default" {
  assert {
    condition     = length(google_secret_manager_secret_iam_member.webhook_reads_key) == 0 && length(google_secret_manager_secret_iam_member.effects_reads_key) == 0
    error_message = "The Gemini key is for those that use it with these settings."
  }
}

run "tokens_are_confirmed_with_the_key" {
  variables {
    webhook_audience = "a"
  }

  assert {
    condition     = length(google_secret_manager_secret_iam_member.webhook_reads_key) == 1 && length(google_secret_manager_secret_iam_member.effects_reads_key) == 0
    error_message = "The Gemini key is for those that use it with these settings."
  }
}

run "tokens_are_believed_without_the_key" {
  variables {
    webhook_audience = "a"
    confirm          = "never"
  }

  assert {
    condition     = length(google_secret_manager_secret_iam_member.webhook_reads_key) == 0 && length(google_secret_manager_secret_iam_member.effects_reads_key) == 0
    error_message = "The Gemini key is for those that use it with these settings."
  }
}

run "every_delivery_is_confirmed_with_the_key" {
  variables {
    confirm = "always"
  }

  assert {
    condition     = length(google_secret_manager_secret_iam_member.webhook_reads_key) == 1 && length(google_secret_manager_secret_iam_member.effects_reads_key) == 0
    error_message = "The Gemini key is for those that use it with these settings."
  }
}

run "items_are_fetched_with_the_key" {
  variables {
    effects = "[{name: a, on: [SUCCEEDED], do: log, each: item}]"
  }

  assert {
    condition     = length(google_secret_manager_secret_iam_member.webhook_reads_key) == 0 && length(google_secret_manager_secret_iam_member.effects_reads_key) == 1
    error_message = "The Gemini key is for those that use it with these settings."
  }
}

run "results_are_fetched_with_the_key" {
  variables {
    effects = "[{name: a, on: [SUCCEEDED], do: results, bucket: gs://my-results}]"
  }

  assert {
    condition     = length(google_secret_manager_secret_iam_member.webhook_reads_key) == 0 && length(google_secret_manager_secret_iam_member.effects_reads_key) == 1
    error_message = "The Gemini key is for those that use it with these settings."
  }
}

run "jobs_are_done_with_the_key" {
  variables {
    job_bucket = "a-jobs"
  }

  assert {
    condition     = length(google_secret_manager_secret_iam_member.webhook_reads_key) == 0 && length(google_secret_manager_secret_iam_member.effects_reads_key) == 1
    error_message = "The Gemini key is for those that use it with these settings."
  }
}

run "secrets_of_effects_are_for_effects_alone" {
  variables {
    effects = <<-YAML
      - {name: a, on: [SUCCEEDED], do: http, urlSecret: projects/b-project/secrets/crm-url, tokenSecret: " projects/a-project/secrets/crm-token"}
      - {name: b, on: [SUCCEEDED], do: http, url: "https://example.com", headerSecrets: {X-Api-Key: projects/a-project/secrets/crm-key, X-Local: "env:KEY"}}
      - {name: c, on: [FAILED], do: http, urlSecret: projects/b-project/secrets/crm-url, headerSecrets: null}
      - {name: d, on: [FAILED], do: log}
    YAML
  }

  assert {
    condition = toset([
      for binding in values(google_secret_manager_secret_iam_member.effects_reads_own_secrets) : "${binding.member} ${binding.role} ${binding.secret_id}"
      ]) == toset([
      for name in ["projects/b-project/secrets/crm-url", "projects/a-project/secrets/crm-token", "projects/a-project/secrets/crm-key"] :
      "${google_service_account.effects.member} roles/secretmanager.secretAccessor ${name}"
    ])
    error_message = "Effects, and no other function, reads the secrets that its effects name: ${jsonencode(google_secret_manager_secret_iam_member.effects_reads_own_secrets)}"
  }
}

run "other_effects_need_no_key" {
  variables {
    effects = "[{name: a, on: [SUCCEEDED], do: log}]"
  }

  assert {
    condition     = length(google_secret_manager_secret_iam_member.webhook_reads_key) == 0 && length(google_secret_manager_secret_iam_member.effects_reads_key) == 0
    error_message = "The Gemini key is for those that use it with these settings."
  }
}
