# Google Cloud does not know everywhere at once what is new, and the provider does not try again. What needs it depends on a wait,
# which is made with the first apply and again where there is something new. `sleep` is all it takes: the time provider would be one
# more to have.

# Builds start seconds after the grants otherwise, and fail.
resource "terraform_data" "grants_known" {
  triggers_replace = [
    google_artifact_registry_repository_iam_member.build_writes.id,
    google_project_iam_member.build_logs.id,
    google_project_iam_member.build_reads_source.id,
    google_pubsub_topic.effects.id, # with it comes Pub/Sub's own agent
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
