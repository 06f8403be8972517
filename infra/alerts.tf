# Alerts on the signals of signals.json: too many in a window, or none. "while" is a signal that must also
# have counted something in the window. "all-of" is a signal that must have counted nothing else than this
# one; with "share", this one must be more than that share of it, and with "least" it must have counted so
# many. A window is so many intervals of the schedule, or minutes if it does not depend on the schedule; at
# least five minutes, because log lines are counted with a delay.
locals {
  signal_metrics = {
    for name, metric in google_logging_metric.this :
    name => "metric.type=\"logging.googleapis.com/user/${metric.name}\" AND resource.type=\"${local.signal_resources[name]}\""
  }

  alerts = {
    for name, signal in local.signals : name => merge(signal.alert, {
      metric  = local.signal_metrics[name]
      while   = try(local.signal_metrics[signal.alert.while], null)
      all_of  = try(local.signal_metrics[signal.alert["all-of"]], null)
      share   = try(signal.alert.share, null)
      least   = try(signal.alert.least, 0)
      witness = lower(try(local.signals[signal.alert.while].title, ""))
      window  = "${60 * max(5, try(signal.alert.intervals * local.interval_minutes, signal.alert.minutes))}s"
    }) if can(signal.alert)
  }

  # The text of each playbook, whose first command names this deployment.
  playbooks = {
    for file in fileset("${path.module}/playbooks", "*.md") : file => replace(
      file("${path.module}/playbooks/${file}"), "--project=PROJECT --region=REGION --prefix=PREFIX",
    "--project=${var.project} --region=${var.region} --prefix=${var.name_prefix}")
  }

  # What each alert links, behind its playbook. An alert may have three links.
  alert_links = [
    { name = "Dashboard", url = local.dashboard_url },
    { name = "Ledger", url = local.ledger_url },
  ]
  dashboard_url = "https://console.cloud.google.com/monitoring/dashboards/builder/${basename(google_monitoring_dashboard.this.id)}?project=${var.project}"
  ledger_url    = "https://console.cloud.google.com/firestore/databases/${var.firestore_database == "(default)" ? "-default-" : var.firestore_database}/data/panel/operations?project=${var.project}"
}

resource "google_monitoring_alert_policy" "signal" {
  for_each = local.alerts

  project               = var.project
  display_name          = "${var.name_prefix}: ${each.value.title}"
  severity              = each.value.severity
  combiner              = each.value.while == null && each.value.all_of == null ? "OR" : "AND"
  notification_channels = local.channels
  user_labels           = local.labels

  dynamic "conditions" {
    for_each = each.value.when == "above" ? [each.value] : []

    content {
      display_name = "more than ${conditions.value.count} in ${conditions.value.window}"

      condition_threshold {
        filter                  = conditions.value.metric
        comparison              = "COMPARISON_GT"
        threshold_value         = conditions.value.count
        duration                = "60s"
        evaluation_missing_data = "EVALUATION_MISSING_DATA_INACTIVE"

        aggregations {
          alignment_period     = conditions.value.window
          per_series_aligner   = "ALIGN_DELTA"
          cross_series_reducer = "REDUCE_SUM"
        }
      }
    }
  }

  # A share of everything, because a metric without any count has no zeros to compare with.
  dynamic "conditions" {
    for_each = each.value.all_of == null ? [] : [each.value]

    content {
      display_name = conditions.value.share == null ? "nothing else in ${conditions.value.window}" : "more than ${100 * conditions.value.share} % of all in ${conditions.value.window}"

      condition_threshold {
        filter                  = conditions.value.metric
        denominator_filter      = conditions.value.all_of
        comparison              = "COMPARISON_GT"
        threshold_value         = conditions.value.share == null ? 0.99 : conditions.value.share
        duration                = "60s"
        evaluation_missing_data = "EVALUATION_MISSING_DATA_INACTIVE"

        aggregations {
          alignment_period     = conditions.value.window
          per_series_aligner   = "ALIGN_DELTA"
          cross_series_reducer = "REDUCE_SUM"
        }

        denominator_aggregations {
          alignment_period     = conditions.value.window
          per_series_aligner   = "ALIGN_DELTA"
          cross_series_reducer = "REDUCE_SUM"
        }
      }
    }
  }

  dynamic "conditions" {
    for_each = each.value.least == 0 ? [] : [each.value]

    content {
      display_name = "of at least ${conditions.value.least} in ${conditions.value.window}"

      condition_threshold {
        filter                  = conditions.value.all_of
        comparison              = "COMPARISON_GT"
        threshold_value         = conditions.value.least - 1
        duration                = "60s"
        evaluation_missing_data = "EVALUATION_MISSING_DATA_INACTIVE"

        aggregations {
          alignment_period     = conditions.value.window
          per_series_aligner   = "ALIGN_DELTA"
          cross_series_reducer = "REDUCE_SUM"
        }
      }
    }
  }

  dynamic "conditions" {
    for_each = each.value.while == null ? [] : [each.value]

    content {
      display_name = "and ${conditions.value.witness} in ${conditions.value.window}"

      condition_threshold {
        filter                  = conditions.value.while
        comparison              = "COMPARISON_GT"
        threshold_value         = 0
        duration                = "60s"
        evaluation_missing_data = "EVALUATION_MISSING_DATA_INACTIVE"

        aggregations {
          alignment_period     = conditions.value.window
          per_series_aligner   = "ALIGN_DELTA"
          cross_series_reducer = "REDUCE_SUM"
        }
      }
    }
  }

  # What stops may leave zeros, or nothing.
  dynamic "conditions" {
    for_each = each.value.when == "absent" ? [each.value] : []

    content {
      display_name = "none in ${conditions.value.window}"

      condition_threshold {
        filter                  = conditions.value.metric
        comparison              = "COMPARISON_LT"
        threshold_value         = 1
        duration                = "60s"
        evaluation_missing_data = "EVALUATION_MISSING_DATA_ACTIVE"

        aggregations {
          alignment_period     = conditions.value.window
          per_series_aligner   = "ALIGN_DELTA"
          cross_series_reducer = "REDUCE_SUM"
        }
      }
    }
  }

  dynamic "conditions" {
    for_each = each.value.when == "absent" ? [each.value] : []

    content {
      display_name = "absent for ${conditions.value.window}"

      condition_absent {
        filter   = conditions.value.metric
        duration = conditions.value.window

        aggregations {
          alignment_period     = "60s"
          per_series_aligner   = "ALIGN_DELTA"
          cross_series_reducer = "REDUCE_SUM"
        }
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = local.playbooks[each.value.playbook]

    dynamic "links" {
      for_each = concat([{ name = "Playbook", url = "${var.playbooks_url}/${each.value.playbook}" }], local.alert_links)

      content {
        display_name = links.value.name
        url          = links.value.url
      }
    }
  }

  depends_on = [terraform_data.metrics_known]
}

resource "google_monitoring_alert_policy" "webhook_unreachable" {
  count = var.public_webhook ? 1 : 0

  project               = var.project
  display_name          = "${var.name_prefix}: the webhook cannot be reached"
  severity              = "CRITICAL"
  combiner              = "OR"
  notification_channels = local.channels
  user_labels           = local.labels

  conditions {
    display_name = "two or more places get no 405"

    condition_threshold {
      filter          = "metric.type=\"monitoring.googleapis.com/uptime_check/check_passed\" AND resource.type=\"uptime_url\" AND metric.labels.check_id=\"${google_monitoring_uptime_check_config.webhook[0].uptime_check_id}\""
      comparison      = "COMPARISON_GT"
      threshold_value = 1
      duration        = "600s"

      aggregations {
        alignment_period     = "1200s"
        per_series_aligner   = "ALIGN_NEXT_OLDER"
        cross_series_reducer = "REDUCE_COUNT_FALSE"
        group_by_fields      = ["resource.label.host"]
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = local.playbooks["webhook-unreachable.md"]

    dynamic "links" {
      for_each = concat([{ name = "Playbook", url = "${var.playbooks_url}/webhook-unreachable.md" }], local.alert_links)

      content {
        display_name = links.value.name
        url          = links.value.url
      }
    }
  }
}
