# signals.json is the one table of what is counted in the log. Metrics, charts and alerts are made of it, so that a line of the
# log, a chart and an alert that have the same name mean the same. A filter compares our own log fields for equality only. What a
# signal has a job for instead is counted in the log of Cloud Scheduler, which has a line also where the function never started.
locals {
  signals = { for signal in jsondecode(file("${path.module}/signals.json")) : signal.name => signal }

  signal_resources = { for name, signal in local.signals : name => can(signal.job) ? "cloud_scheduler_job" : "cloud_run_revision" }

  signal_filters = {
    for name, signal in local.signals : name => join(" AND ", concat(
      ["resource.type=\"${local.signal_resources[name]}\""],
      can(signal.job) ? ["resource.labels.job_id=\"${var.name_prefix}-${signal.job}\"", "severity=\"ERROR\""] : concat(
        ["resource.labels.service_name=(${join(" OR ", [for function in signal.functions : "\"${var.name_prefix}-${function}\""])})"],
        [for field, words in signal.where : "jsonPayload.${field}=(${join(" OR ", [for word in words : jsonencode(word)])})"],
      ),
    ))
  }
}

resource "google_logging_metric" "this" {
  for_each = local.signals

  project     = var.project
  name        = "${var.name_prefix}-${each.key}"
  description = each.value.about
  filter      = local.signal_filters[each.key]

  metric_descriptor {
    metric_kind  = "DELTA"
    value_type   = "INT64"
    unit         = "1"
    display_name = "${var.name_prefix}: ${each.value.title}"

    dynamic "labels" {
      for_each = can(each.value.label) ? [each.value.label] : []

      content {
        key        = labels.value
        value_type = "STRING"
      }
    }
  }

  label_extractors = can(each.value.label) ? { (each.value.label) = "EXTRACT(jsonPayload.${each.value.label})" } : null

  depends_on = [google_project_service.this]
}
