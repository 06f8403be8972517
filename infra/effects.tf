# Effects runs one side effect for each message that Pub/Sub pushes to it. Its subscription is in pubsub.tf.

resource "google_service_account" "effects" {
  project      = var.project
  account_id   = "${var.name_prefix}-effects"
  display_name = "opledger: runs side effects"

  depends_on = [google_project_service.this]
}

resource "google_project_iam_member" "effects_ledger" {
  project = var.project
  role    = "roles/datastore.user"
  member  = google_service_account.effects.member

  condition {
    title      = "ledger of ${var.name_prefix}"
    expression = "resource.name == \"projects/${var.project}/databases/${module.ledger.database.name}\""
  }
}

resource "google_pubsub_topic_iam_member" "effects_publishes" {
  project = var.project
  topic   = google_pubsub_topic.effects.name
  role    = "roles/pubsub.publisher"
  member  = google_service_account.effects.member
}

resource "google_secret_manager_secret_iam_member" "effects_reads_key" {
  count = local.effects_ask_gemini ? 1 : 0

  project   = var.project
  secret_id = google_secret_manager_secret.gemini_api_key.secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.effects.member
}

resource "google_secret_manager_secret_iam_member" "effects_reads_secret" {
  count = var.sign_effects ? 1 : 0

  project   = var.project
  secret_id = google_secret_manager_secret.effect[0].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.effects.member
}

# What the URLs, tokens and headers of its effects are. They are the operator's own secrets.
resource "google_secret_manager_secret_iam_member" "effects_reads_own_secrets" {
  for_each = local.effect_secrets

  secret_id = each.value
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.effects.member
}

# It creates objects, never overwrites or deletes one, and reads only one that it may have written: neither role lists.
resource "google_storage_bucket_iam_member" "effects_creates_results" {
  for_each = toset(var.results_buckets)

  bucket = each.value
  role   = "roles/storage.objectCreator"
  member = google_service_account.effects.member
}

resource "google_storage_bucket_iam_member" "effects_reads_results" {
  for_each = toset(var.results_buckets)

  bucket = each.value
  role   = "roles/storage.legacyObjectReader"
  member = google_service_account.effects.member
}

resource "google_cloudfunctions2_function" "effects" {
  project     = var.project
  location    = var.region
  name        = "${var.name_prefix}-effects"
  description = "Runs side effects"
  labels      = local.labels

  build_config {
    runtime           = local.runtime
    entry_point       = "Effects"
    service_account   = google_service_account.build.id
    docker_repository = google_artifact_registry_repository.functions.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source["effects"].name
      }
    }
  }

  service_config {
    service_account_email = google_service_account.effects.email
    environment_variables = local.environment.effects
    ingress_settings      = "ALLOW_INTERNAL_ONLY"
    timeout_seconds       = local.effects_seconds

    vpc_connector                 = try(var.effects_vpc.connector, null)
    vpc_connector_egress_settings = try(var.effects_vpc.egress, null)

    available_cpu                    = "1" # less takes one request at a time only
    available_memory                 = var.scaling.effects.memory
    min_instance_count               = var.scaling.effects.min_instances
    max_instance_count               = var.scaling.effects.max_instances
    max_instance_request_concurrency = var.scaling.effects.concurrency
  }

  depends_on = [
    terraform_data.grants_known,
    google_project_iam_member.effects_ledger,
    google_pubsub_topic_iam_member.effects_publishes,
    google_secret_manager_secret_iam_member.effects_reads_key,
    google_secret_manager_secret_iam_member.effects_reads_secret,
    google_secret_manager_secret_iam_member.effects_reads_own_secrets,
    google_storage_bucket_iam_member.effects_creates_results,
    google_storage_bucket_iam_member.effects_reads_results,
    google_storage_bucket_iam_member.effects_uses_jobs,
  ]
}

locals {
  # The function knows it, too (OPLEDGER_EFFECTS_TIMEOUT): what it cannot do in that time it hands on. The deadline of the push
  # subscription is longer.
  effects_seconds = 540

  # Of its memory the function lets Go use 70 % (GOMEMLIMIT), and it holds large items in a sixth of that.
  effects_memory    = var.scaling.effects.memory
  effects_mebibytes = tonumber(replace(local.effects_memory, "/[A-Za-z]+$/", "")) * (can(regex("G", local.effects_memory)) ? 1024 : 1)
}

resource "google_cloud_run_v2_service_iam_member" "push_calls_effects" {
  project  = var.project
  location = var.region
  name     = google_cloudfunctions2_function.effects.name
  role     = "roles/run.invoker"
  member   = google_service_account.push.member
}
