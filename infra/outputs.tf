output "webhook_url" {
  description = "Where Gemini delivers to."
  value       = local.webhook_url
}

output "register_url" {
  description = "Where submitters register their operations."
  value       = google_cloudfunctions2_function.register.service_config[0].uri
}

output "environment" {
  description = "Settings for opledger's commands, so that they work on this deployment: eval \"$(terraform output -raw environment)\""
  value = join("", concat(["unset GEMINI_API_KEY\n"], [
    for name, value in local.commands : "export ${name}='${replace(value, "'", "'\\''")}'\n" if value != null
  ]))
}

locals {
  named = join("", concat(
    [for member in var.register_callers : " --register-caller '${member}'"],
    [for bucket in var.results_buckets : " --results-bucket ${bucket}"],
  ))
}

output "next" {
  description = "What to type next."
  value       = <<-EOT
    # 1. The settings of this deployment, for the commands below:
    eval "$(terraform -chdir=infra output -raw environment)"
    # 2. One pass now. The alert for passes that stop watches from the first one on:
    gcloud scheduler jobs run ${google_cloud_scheduler_job.reconcile.name} --location=${var.region} --project=${var.project}
    # 3. Gemini's webhook. Its secret goes to ${google_secret_manager_secret.webhook.secret_id}:
    go run ./scripts/opledger webhook create
    # 4. Register an operation, and see it in the ledger. You need roles/run.invoker (register_callers), or, to be one who has it, add
    #    --impersonate-service-account=ACCOUNT to print-identity-token:
    curl -sS -X POST ${google_cloudfunctions2_function.register.service_config[0].uri} -H "Authorization: Bearer $(gcloud auth print-identity-token)" \
      -H 'Content-Type: application/json' -d '{"name":"batches/YOUR_BATCH"}'
    go run ./scripts/opledger list
    # 5. Is anything missing?
    scripts/doctor --project ${var.project} --region ${var.region} --prefix ${var.name_prefix} --database '${var.firestore_database}'${local.named}
  EOT
}

output "dashboard_url" {
  description = "The charts."
  value       = local.dashboard_url
}

output "ledger_url" {
  description = "The ledger in the Firestore console."
  value       = local.ledger_url
}
