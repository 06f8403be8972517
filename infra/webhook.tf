# Webhook receives Gemini's deliveries. It is the only public function: it verifies signatures itself.

resource "google_service_account" "webhook" {
  project      = var.project
  account_id   = "${var.name_prefix}-webhook"
  display_name = "opledger: takes Gemini's deliveries"

  depends_on = [google_project_service.this]
}

resource "google_project_iam_member" "webhook_ledger" {
  project = var.project
  role    = "roles/datastore.user"
  member  = google_service_account.webhook.member

  condition {
    title      = "ledger of ${var.name_prefix}"
    expression = "resource.name == \"projects/${var.project}/databases/${module.ledger.database.name}\""
  }
}

resource "google_pubsub_topic_iam_member" "webhook_publishes" {
  project = var.project
  topic   = google_pubsub_topic.effects.name
  role    = "roles/pubsub.publisher"
  member  = google_service_account.webhook.member
}

# During a rotation every enabled version of the secret counts, so they are listed, too.
resource "google_secret_manager_secret_iam_member" "webhook_reads_secret" {
  project   = var.project
  secret_id = google_secret_manager_secret.webhook.secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.webhook.member
}

resource "google_secret_manager_secret_iam_member" "webhook_lists_secret" {
  project   = var.project
  secret_id = google_secret_manager_secret.webhook.secret_id
  role      = "roles/secretmanager.viewer"
  member    = google_service_account.webhook.member
}

# An unverified delivery is confirmed at Gemini.
resource "google_secret_manager_secret_iam_member" "webhook_reads_key" {
  count = local.webhook_asks_gemini ? 1 : 0

  project   = var.project
  secret_id = google_secret_manager_secret.gemini_api_key.secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.webhook.member
}

resource "google_cloudfunctions2_function" "webhook" {
  project     = var.project
  location    = var.region
  name        = "${var.name_prefix}-webhook"
  description = "Takes what Gemini delivers"
  labels      = local.labels

  build_config {
    runtime           = local.runtime
    entry_point       = "Webhook"
    service_account   = google_service_account.build.id
    docker_repository = google_artifact_registry_repository.functions.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source["webhook"].name
      }
    }
  }

  service_config {
    service_account_email = google_service_account.webhook.email
    environment_variables = local.environment.webhook
    ingress_settings      = var.webhook_ingress
    timeout_seconds       = 60

    available_cpu                    = "1" # less takes one request at a time only
    available_memory                 = var.scaling.webhook.memory
    min_instance_count               = var.scaling.webhook.min_instances
    max_instance_count               = var.scaling.webhook.max_instances
    max_instance_request_concurrency = var.scaling.webhook.concurrency
  }

  depends_on = [
    google_cloudfunctions2_function.effects, # first: it must know an effect before one is planned
    terraform_data.grants_known,
    google_project_iam_member.webhook_ledger,
    google_pubsub_topic_iam_member.webhook_publishes,
    google_secret_manager_secret_iam_member.webhook_reads_secret,
    google_secret_manager_secret_iam_member.webhook_lists_secret,
    google_secret_manager_secret_iam_member.webhook_reads_key,
  ]
}

# The one public door.
resource "google_cloud_run_v2_service_iam_member" "webhook_public" {
  count = var.public_webhook ? 1 : 0

  project  = var.project
  location = var.region
  name     = google_cloudfunctions2_function.webhook.name
  role     = "roles/run.invoker"
  member   = "allUsers"
}
