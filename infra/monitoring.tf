# Who is notified, and the check from outside. The alerts are in alerts.tf, the charts in dashboard.tf.

resource "google_monitoring_notification_channel" "email" {
  for_each = toset(var.notification_emails)

  project      = var.project
  type         = "email"
  display_name = "${var.name_prefix}: ${each.key}"
  labels       = { email_address = each.key }
  user_labels  = local.labels

  depends_on = [google_project_service.this]
}

locals {
  channels = concat([for channel in google_monitoring_notification_channel.email : channel.id], var.notification_channels)
}

check "somebody_is_told" {
  assert {
    condition     = length(local.channels) > 0
    error_message = "Alerts have no recipient: set notification_emails or notification_channels."
  }
}

# The webhook answers a GET with 405, which it can only when its settings are good and its parts are made. A webhook that
# is not public cannot be checked from outside. One behind a load balancer is reached there alone.
locals {
  checked = split("/", trimprefix(
    var.webhook_ingress == "ALLOW_ALL" ? google_cloudfunctions2_function.webhook.service_config[0].uri : var.webhook_url, "https://",
  ))
}

resource "google_monitoring_uptime_check_config" "webhook" {
  count = var.public_webhook ? 1 : 0

  project      = var.project
  display_name = "${var.name_prefix}-webhook"
  period       = "300s"
  timeout      = "10s"
  user_labels  = local.labels

  http_check {
    request_method = "GET"
    path           = "/${join("/", slice(local.checked, 1, length(local.checked)))}"
    port           = 443
    use_ssl        = true
    validate_ssl   = true

    accepted_response_status_codes {
      status_value = 405
    }
  }

  monitored_resource {
    type = "uptime_url"
    labels = {
      project_id = var.project
      host       = local.checked[0]
    }
  }

  depends_on = [google_cloud_run_v2_service_iam_member.webhook_public]
}
