# What jobs read and write: their inputs, what they store as they go, and their results.

# A job deletes its own working objects when it has ended, so lifecycle.json deletes by age only what a crash left of a merge.
# Without force_destroy a bucket that holds anything is not deleted.
resource "google_storage_bucket" "jobs" {
  count = var.job_bucket == null ? 0 : 1

  project  = var.project
  name     = var.job_bucket
  location = var.region
  labels   = local.labels

  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  dynamic "lifecycle_rule" {
    for_each = jsondecode(file("${path.module}/lifecycle.json")).rule

    content {
      action { type = lifecycle_rule.value.action.type }

      condition {
        age            = lifecycle_rule.value.condition.age
        matches_prefix = lifecycle_rule.value.condition.matchesPrefix
      }
    }
  }

  depends_on = [google_project_service.this]

  # It stays where it was made when only the functions move.
  lifecycle { ignore_changes = [location] }
}

# Create, read, list, compose and delete, in this bucket alone. Register only writes down what a job's input is.
resource "google_storage_bucket_iam_member" "effects_uses_jobs" {
  count = var.job_bucket == null ? 0 : 1

  bucket = google_storage_bucket.jobs[0].name
  role   = "roles/storage.objectUser"
  member = google_service_account.effects.member
}
