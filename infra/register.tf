# Register records the operations of submitters, from anywhere; IAM decides who may call it.

resource "google_service_account" "register" {
  project      = var.project
  account_id   = "${var.name_prefix}-register"
  display_name = "opledger: registers operations"

  depends_on = [google_project_service.this]
}

resource "google_project_iam_member" "register_ledger" {
  project = var.project
  role    = "roles/datastore.user"
  member  = google_service_account.register.member

  condition {
    title      = "ledger of ${var.name_prefix}"
    expression = "resource.name == \"projects/${var.project}/databases/${module.ledger.database.name}\""
  }
}

resource "google_pubsub_topic_iam_member" "register_publishes" {
  project = var.project
  topic   = google_pubsub_topic.effects.name
  role    = "roles/pubsub.publisher"
  member  = google_service_account.register.member
}

resource "google_cloudfunctions2_function" "register" {
  project     = var.project
  location    = var.region
  name        = "${var.name_prefix}-register"
  description = "Registers operations as they are submitted"
  labels      = local.labels

  build_config {
    runtime           = local.runtime
    entry_point       = "Register"
    service_account   = google_service_account.build.id
    docker_repository = google_artifact_registry_repository.functions.id

    source {
      storage_source {
        bucket = google_storage_bucket.source.name
        object = google_storage_bucket_object.source["register"].name
      }
    }
  }

  service_config {
    service_account_email = google_service_account.register.email
    environment_variables = local.environment.register
    ingress_settings      = "ALLOW_ALL"
    timeout_seconds       = 60

    available_cpu                    = "1" # less takes one request at a time only
    available_memory                 = var.scaling.register.memory
    min_instance_count               = var.scaling.register.min_instances
    max_instance_count               = var.scaling.register.max_instances
    max_instance_request_concurrency = var.scaling.register.concurrency
  }

  depends_on = [
    google_cloudfunctions2_function.effects, # first: it must know an effect before one is planned
    terraform_data.grants_known,
    google_project_iam_member.register_ledger,
    google_pubsub_topic_iam_member.register_publishes,
  ]
}

resource "google_cloud_run_v2_service_iam_member" "register_callers" {
  for_each = toset(var.register_callers)

  project  = var.project
  location = var.region
  name     = google_cloudfunctions2_function.register.name
  role     = "roles/run.invoker"
  member   = each.value
}
