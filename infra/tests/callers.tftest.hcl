# What calls what, and with which token. A test of test/frontdoor lets real pushes through a door that checks just this.
mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }

  override_resource {
    target = google_cloudfunctions2_function.effects
    values = { service_config = { uri = "https://effects.example" } }
  }

  override_resource {
    target = google_cloudfunctions2_function.reconcile
    values = { service_config = { uri = "https://reconcile.example" } }
  }

  override_resource {
    target = google_service_account.push
    values = {
      name   = "projects/a-project/serviceAccounts/opledger-push@a-project.iam.gserviceaccount.com"
      email  = "opledger-push@a-project.iam.gserviceaccount.com"
      member = "serviceAccount:opledger-push@a-project.iam.gserviceaccount.com"
    }
  }

  override_resource {
    target = google_service_account.scheduler
    values = {
      email  = "opledger-scheduler@a-project.iam.gserviceaccount.com"
      member = "serviceAccount:opledger-scheduler@a-project.iam.gserviceaccount.com"
    }
  }
}

variables {
  project             = "a-project"
  source_archive_dir  = "./tests/source"
  notification_emails = ["ops@example.com"]
  delete_protection   = false                       # the end of a test deletes what was made
  waits               = { grants = 0, metrics = 0 } # nothing is new to a mock
}

run "callers_are_as_the_front_door_expects_them" {
  assert {
    condition = jsonencode(jsondecode(file("./tests/callers.json"))) == jsonencode({
      push = {
        endpoint = google_pubsub_subscription.effects.push_config[0].push_endpoint
        account  = google_pubsub_subscription.effects.push_config[0].oidc_token[0].service_account_email
        audience = google_pubsub_subscription.effects.push_config[0].oidc_token[0].audience
        url      = google_cloudfunctions2_function.effects.service_config[0].uri
        invokers = [for grant in [google_cloud_run_v2_service_iam_member.push_calls_effects] : grant.member
        if grant.name == google_cloudfunctions2_function.effects.name && grant.role == "roles/run.invoker"]
        signers = [for grant in [google_service_account_iam_member.pubsub_signs_as_push] : grant.member
        if grant.service_account_id == google_service_account.push.name && grant.role == "roles/iam.serviceAccountOpenIdTokenCreator"]
      }
      schedule = {
        endpoint = google_cloud_scheduler_job.reconcile.http_target[0].uri
        account  = google_cloud_scheduler_job.reconcile.http_target[0].oidc_token[0].service_account_email
        audience = google_cloud_scheduler_job.reconcile.http_target[0].oidc_token[0].audience
        url      = google_cloudfunctions2_function.reconcile.service_config[0].uri
        invokers = [for grant in [google_cloud_run_v2_service_iam_member.scheduler_calls_reconcile] : grant.member
        if grant.name == google_cloudfunctions2_function.reconcile.name && grant.role == "roles/run.invoker"]
        signers = [] # Cloud Scheduler's agent has its own right to sign
      }
    })
    error_message = "What calls the functions must be as in tests/callers.json."
  }
}
