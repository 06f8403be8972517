# Reconcile asks Gemini about what is pending and publishes effects that no worker holds, every few minutes [R1].

resource "google_service_account" "reconcile" {
  project      = var.project
  account_id   = "${var.name_prefix}-reconcile"
  display_name = "opledger: asks Gemini about pending operations"

  depends_on = [google_project_service.this]
}

resource "google_project_iam_member" "reconcile_ledger" {
  project = var.project
  role    = "roles/datastore.user"
  member  = google_service_account.reconcile.member

  condition {
    title      = "ledger of ${var.name_prefix}"
    expression = "resource.name == \"projects/${var.project}/databases/${module.ledger.database.name}\""
  }
}

resource "google_pubsub_topic_iam_member" "reconcile_publishes" {
  project = var.project
  topic   = google_pubsub_topic.effects.name
  role    = "roles/pubsub.publisher"
  member  = google_service_account.reconcile.member
}

resource "google_secret_manager_secret_iam_member" "reconcile_reads_key" {
  project   = var.project
  secret_id = google_secret_manager_secret.gemini_api_key.secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.reconcile.member
}

# If Gemini has no webhook and its secret has no version, none was created yet.
resource "google_secret_manager_secret_iam_member" "reconcile_lists_secret" {
  project   = var.project
  secret_id = google_secret_manager_secret.webhook.secret_id
  role      = "roles/secretmanager.viewer"
  member    = google_service_account.reconcile.member
}

# A pass compares the secret with what Gemini lists: a wrong one is known before the first delivery is refused.
resource "google_secret_manager_secret_iam_member" "reconcile_reads_secret" {
  project   = var.project
  secret_id = google_secret_manager_secret.webhook.secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.reconcile.member
}

resource "google_cloudfunctions2_function" "reconcile" {
  project     = var.project
  location    = var.region
  name        = "${var.name_prefix}-reconcile"
  description = "Asks Gemini about what is pending"
  labels      = local.labels

  build_config {
    runtime           = local.runtime
    entry_point       = "Reconcile"
    service_account   = google_service_account.build.id
    docker_repository = google_artifact_registry_repository.functions.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source["reconcile"].name
      }
    }
  }

  service_config {
    service_account_email = google_service_account.reconcile.email
    environment_variables = merge(local.environment.reconcile, { OPLEDGER_WEBHOOK_URL = local.webhook_url })
    ingress_settings      = "ALLOW_INTERNAL_ONLY"
    timeout_seconds       = local.reconcile_seconds

    available_cpu                    = "1" # less takes one request at a time only
    available_memory                 = var.scaling.reconcile.memory
    min_instance_count               = var.scaling.reconcile.min_instances
    max_instance_count               = var.scaling.reconcile.max_instances
    max_instance_request_concurrency = var.scaling.reconcile.concurrency
  }

  depends_on = [
    google_cloudfunctions2_function.effects, # first: it must know an effect before one is planned
    terraform_data.grants_known,
    google_project_iam_member.reconcile_ledger,
    google_pubsub_topic_iam_member.reconcile_publishes,
    google_secret_manager_secret_iam_member.reconcile_reads_key,
    google_secret_manager_secret_iam_member.reconcile_lists_secret,
  ]
}

locals {
  # A pass ends by itself after four minutes; this is for one that does not.
  reconcile_seconds = 300
}

resource "google_service_account" "scheduler" {
  project      = var.project
  account_id   = "${var.name_prefix}-scheduler"
  display_name = "opledger: Cloud Scheduler calls ${var.name_prefix}-reconcile"

  depends_on = [google_project_service.this]
}

resource "google_cloud_run_v2_service_iam_member" "scheduler_calls_reconcile" {
  project  = var.project
  location = var.region
  name     = google_cloudfunctions2_function.reconcile.name
  role     = "roles/run.invoker"
  member   = google_service_account.scheduler.member
}

resource "google_cloud_scheduler_job" "reconcile" {
  project     = var.project
  region      = var.region
  name        = "${var.name_prefix}-reconcile"
  description = "One reconciliation pass"
  schedule    = "*/${local.interval_minutes} * * * *"
  time_zone   = "Etc/UTC"

  # The next pass does what a failed one left, so nothing is tried again in between.
  attempt_deadline = "${local.reconcile_seconds}s"
  retry_config {
    retry_count = 0
  }

  http_target {
    http_method = "POST"
    uri         = "${google_cloudfunctions2_function.reconcile.service_config[0].uri}/"

    oidc_token {
      service_account_email = google_service_account.scheduler.email
      audience              = google_cloudfunctions2_function.reconcile.service_config[0].uri
    }
  }

  depends_on = [google_cloud_run_v2_service_iam_member.scheduler_calls_reconcile]
}
