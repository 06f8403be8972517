# platform.json is the table of what Google Cloud itself measures: the subscriptions. Where nothing of ours runs, as with a push that
# is refused, no line of the log can show it. The alerts are on the highest value in five minutes.
locals {
  platform = { for measure in jsondecode(file("${path.module}/platform.json")) : measure.name => measure }

  platform_filters = {
    for name, measure in local.platform : name => join(" AND ", concat(
      ["metric.type=\"${measure.metric}\"", "resource.type=\"${measure.resource}\""],
      [for label, value in measure.where : "resource.labels.${label}=\"${var.name_prefix}-${value}\""],
    ))
  }
}

resource "google_monitoring_alert_policy" "platform" {
  for_each = { for name, measure in local.platform : name => measure if can(measure.alert) }

  project               = var.project
  display_name          = "${var.name_prefix}: ${each.value.alert.title}"
  severity              = each.value.alert.severity
  combiner              = "OR"
  notification_channels = local.channels
  user_labels           = local.labels

  conditions {
    display_name = "more than ${each.value.alert.above} ${each.value.unit} for 300s"

    condition_threshold {
      filter          = local.platform_filters[each.key]
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.alert.above
      duration        = "300s"

      aggregations {
        alignment_period   = "300s"
        per_series_aligner = each.value.aligner
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = local.playbooks[each.value.alert.playbook]

    dynamic "links" {
      for_each = concat([{ name = "Playbook", url = "${var.playbooks_url}/${each.value.alert.playbook}" }], local.alert_links)

      content {
        display_name = links.value.name
        url          = links.value.url
      }
    }
  }

  # Labels hold names only, so the subscriptions themselves must be there first.
  depends_on = [google_pubsub_subscription.effects, google_pubsub_subscription.dead]
}
