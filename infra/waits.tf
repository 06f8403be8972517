# New accounts, grants and metrics take effect in Google Cloud only after a while, and the provider does not
# retry. What needs them depends on a wait, which is made by the first apply, and again if something new is
# made. `sleep` is enough: the time provider would be one more dependency.

# Builds start seconds after the grants otherwise, and fail.
resource "terraform_data" "grants_known" {
  triggers_replace = [
    google_artifact_registry_repository_iam_member.build_writes.id,
    google_project_iam_member.build_logs.id,
    google_project_iam_member.build_reads_source.id,
    google_pubsub_topic.effects.id, # its creation makes Pub/Sub's own agent
    google_service_account.build.unique_id,
    google_service_account.push.unique_id,
  ]

  provisioner "local-exec" {
    command = "echo 'waiting ${var.waits.grants} s for new accounts and roles to be known everywhere'; sleep ${var.waits.grants}"
  }
}

# An alert on a metric that is not known yet is refused with 404, for up to ten minutes. Functions are built meanwhile.
resource "terraform_data" "metrics_known" {
  triggers_replace = [for metric in google_logging_metric.this : metric.id]

  provisioner "local-exec" {
    command = "echo 'waiting ${var.waits.metrics} s for Cloud Monitoring to find new metrics'; sleep ${var.waits.metrics}"
  }
}
