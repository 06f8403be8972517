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

run "functions_are_deployed_as_they_are_registered" {
  assert {
    condition = [
      for f in [google_cloudfunctions2_function.webhook, google_cloudfunctions2_function.register, google_cloudfunctions2_function.reconcile, google_cloudfunctions2_function.effects] :
      "${f.name} ${f.build_config[0].entry_point} ${f.build_config[0].runtime}"
      ] == [
      for name in ["webhook Webhook", "register Register", "reconcile Reconcile", "effects Effects"] : "opledger-${name} ${trimspace(file("./runtime.txt"))}"
    ]
    error_message = "G1: four functions, by the names they are registered under."
  }

  assert {
    condition = alltrue([
      for name, object in google_storage_bucket_object.source : object.name == "${name}-${filesha256("./tests/source/${name}.zip")}.zip"
    ])
    error_message = "An object's name must carry the hash of its content: a change must deploy again."
  }

  assert {
    condition = alltrue([
      for name, f in {
        webhook   = google_cloudfunctions2_function.webhook, register = google_cloudfunctions2_function.register,
        reconcile = google_cloudfunctions2_function.reconcile, effects = google_cloudfunctions2_function.effects,
      } :
      f.build_config[0].source[0].storage_source[0].object == google_storage_bucket_object.source[name].name
    ])
    error_message = "Each function must be built from its own package."
  }

  assert {
    condition = alltrue([
      for f in [google_cloudfunctions2_function.webhook, google_cloudfunctions2_function.register, google_cloudfunctions2_function.reconcile, google_cloudfunctions2_function.effects] :
      length(f.event_trigger) == 0
    ])
    error_message = "Effects has a subscription of our own; Eventarc's can have no dead-letter topic."
  }

  assert {
    condition = [
      for f in [google_cloudfunctions2_function.webhook, google_cloudfunctions2_function.register, google_cloudfunctions2_function.reconcile, google_cloudfunctions2_function.effects] :
      f.service_config[0].ingress_settings
    ] == ["ALLOW_ALL", "ALLOW_ALL", "ALLOW_INTERNAL_ONLY", "ALLOW_INTERNAL_ONLY"]
    error_message = "Only Google's own services call Reconcile and Effects."
  }

  assert {
    condition     = google_cloudfunctions2_function.effects.service_config[0].timeout_seconds < google_pubsub_subscription.effects.ack_deadline_seconds
    error_message = "A message must not be redelivered while it is being worked on."
  }
}

run "a_load_balancer_alone_reaches_the_webhook" {
  variables {
    webhook_ingress = "ALLOW_INTERNAL_AND_GCLB"
    webhook_url     = "https://hooks.example.com/gemini"
  }

  assert {
    condition     = google_cloudfunctions2_function.webhook.service_config[0].ingress_settings == "ALLOW_INTERNAL_AND_GCLB"
    error_message = "Strangers must not reach the function around the load balancer."
  }

  assert {
    condition = (google_monitoring_uptime_check_config.webhook[0].monitored_resource[0].labels.host == "hooks.example.com" &&
    google_monitoring_uptime_check_config.webhook[0].http_check[0].path == "/gemini")
    error_message = "The check must go the way that Gemini goes."
  }
}

run "a_load_balancer_has_an_address" {
  command = plan
  variables {
    webhook_ingress = "ALLOW_INTERNAL_AND_GCLB"
  }
  expect_failures = [var.webhook_ingress]
}

run "effects_has_no_network_of_its_own" {
  assert {
    condition     = google_cloudfunctions2_function.effects.service_config[0].vpc_connector == null
    error_message = "A connector costs money, and must be asked for."
  }
}

run "effects_reaches_a_private_network_where_it_is_asked_for" {
  variables {
    effects_vpc = { connector = "projects/a-project/locations/europe-west1/connectors/mine", egress = "ALL_TRAFFIC" }
  }

  assert {
    condition = [
      for f in [google_cloudfunctions2_function.webhook, google_cloudfunctions2_function.register, google_cloudfunctions2_function.reconcile, google_cloudfunctions2_function.effects] :
      coalesce(f.service_config[0].vpc_connector, "none")
    ] == ["none", "none", "none", "projects/a-project/locations/europe-west1/connectors/mine"]
    error_message = "Effects alone calls receivers."
  }

  assert {
    condition     = google_cloudfunctions2_function.effects.service_config[0].vpc_connector_egress_settings == "ALL_TRAFFIC"
    error_message = "A static address needs all traffic to go through the network."
  }
}

run "scaling_is_set_for_one_function_alone" {
  variables {
    scaling = { webhook = { min_instances = 1, max_instances = 50 } }
  }

  assert {
    condition     = google_cloudfunctions2_function.webhook.service_config[0].min_instance_count == 1 && google_cloudfunctions2_function.webhook.service_config[0].max_instance_count == 50
    error_message = "The webhook's scaling must be as set."
  }

  assert {
    condition     = google_cloudfunctions2_function.webhook.service_config[0].max_instance_request_concurrency == 80 && google_cloudfunctions2_function.register.service_config[0].max_instance_count == 3
    error_message = "What is not set must keep its default."
  }
}

run "a_new_project_has_the_vcpu_of_all_instances" {
  assert {
    condition = sum([
      for f in [google_cloudfunctions2_function.webhook, google_cloudfunctions2_function.register, google_cloudfunctions2_function.reconcile, google_cloudfunctions2_function.effects] :
      f.service_config[0].max_instance_count * tonumber(f.service_config[0].available_cpu)
    ]) <= 20
    error_message = "A region of a new project has 20 vCPU: a busy Effects must leave Webhook its share."
  }
}

run "the_scheduler_calls_reconcile_every_five_minutes" {
  assert {
    condition     = google_cloud_scheduler_job.reconcile.schedule == "*/5 * * * *" && google_cloud_scheduler_job.reconcile.http_target[0].http_method == "POST"
    error_message = "R1: a pass every 5 minutes."
  }

  assert {
    condition = (google_cloud_scheduler_job.reconcile.http_target[0].uri == "${google_cloudfunctions2_function.reconcile.service_config[0].uri}/" &&
      google_cloud_scheduler_job.reconcile.http_target[0].oidc_token[0].audience == google_cloudfunctions2_function.reconcile.service_config[0].uri &&
    google_cloud_scheduler_job.reconcile.http_target[0].oidc_token[0].service_account_email == google_service_account.scheduler.email)
    error_message = "The scheduler must call Reconcile with a token of its own account, made for Reconcile."
  }

  assert {
    condition     = google_cloud_scheduler_job.reconcile.attempt_deadline == "${google_cloudfunctions2_function.reconcile.service_config[0].timeout_seconds}s"
    error_message = "The scheduler must wait as long as a pass may take."
  }
}

run "the_schedule_follows_the_interval" {
  variables {
    interval = "15m"
  }

  assert {
    condition     = google_cloud_scheduler_job.reconcile.schedule == "*/15 * * * *" && google_cloudfunctions2_function.reconcile.service_config[0].environment_variables.OPLEDGER_INTERVAL == "15m"
    error_message = "The schedule and OPLEDGER_INTERVAL must be the same."
  }
}

run "what_is_new_is_waited_for_by_default" {
  command = plan
  variables {
    waits = {}
  }

  # Google says 2 minutes for roles to be known, and up to 10 for metrics.
  assert {
    condition     = var.waits.grants >= 120 && var.waits.metrics >= 600
    error_message = "The first apply must wait for what is new."
  }
}
