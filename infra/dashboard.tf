# The dashboard: the ten charts that the operator on call reads first, in this order, then a chart for each signal.
locals {
  chart_services = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=monitoring.regex.full_match(\"${var.name_prefix}-(webhook|register|reconcile|effects)\")"
  chart_ledger   = "resource.type=\"firestore.googleapis.com/Database\" AND resource.labels.database_id=\"${var.firestore_database}\""

  # Gauges are aligned to their highest value, counts to a sum, latencies to a percentile.
  first_charts = [
    {
      title  = "Passes: none for three intervals means that lost webhooks stay lost"
      filter = local.signal_metrics["passes"], aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = []
    },
    {
      title  = "Oldest message that Effects has not taken (s): rises while pushes are refused or effects are slow"
      filter = local.platform_filters["backlog"], aligner = "ALIGN_MAX", reducer = "REDUCE_MAX", by = []
    },
    {
      title   = "Messages that wait for Effects"
      filter  = "metric.type=\"pubsub.googleapis.com/subscription/num_undelivered_messages\" AND resource.type=\"pubsub_subscription\" AND resource.labels.subscription_id=\"${google_pubsub_subscription.effects.name}\""
      aligner = "ALIGN_MAX", reducer = "REDUCE_MAX", by = []
    },
    {
      title  = "Dead letters: each waits for the operator"
      filter = local.platform_filters["dead-letter"], aligner = "ALIGN_MAX", reducer = "REDUCE_MAX", by = []
    },
    {
      title  = "Effects by outcome"
      filter = local.signal_metrics["effects"], aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = ["metric.label.outcome"]
    },
    {
      title   = "Answers of the functions by class: 5xx is retried by who asked"
      filter  = "metric.type=\"run.googleapis.com/request_count\" AND ${local.chart_services}"
      aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = ["resource.label.service_name", "metric.label.response_code_class"]
    },
    {
      title   = "Latency of the functions, 95th percentile (ms)"
      filter  = "metric.type=\"run.googleapis.com/request_latencies\" AND ${local.chart_services}"
      aligner = "ALIGN_PERCENTILE_95", reducer = "REDUCE_MAX", by = ["resource.label.service_name"]
    },
    {
      title   = "Instances of the functions: at their maximum, requests wait"
      filter  = "metric.type=\"run.googleapis.com/container/instance_count\" AND ${local.chart_services}"
      aligner = "ALIGN_MAX", reducer = "REDUCE_SUM", by = ["resource.label.service_name"]
    },
    {
      title   = "Firestore requests by answer: ABORTED is contention, RESOURCE_EXHAUSTED a limit"
      filter  = "metric.type=\"firestore.googleapis.com/api/request_count\" AND ${local.chart_ledger}"
      aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = ["metric.label.response_code"]
    },
    {
      title   = "Firestore latency, 95th percentile (s)"
      filter  = "metric.type=\"firestore.googleapis.com/api/request_latencies\" AND ${local.chart_ledger}"
      aligner = "ALIGN_PERCENTILE_95", reducer = "REDUCE_MAX", by = ["metric.label.api_method"]
    },
  ]

  signal_charts = [
    for name, signal in local.signals : {
      title   = signal.title
      filter  = local.signal_metrics[name]
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
      by      = can(signal.label) ? ["metric.label.${signal.label}"] : []
    }
  ]
}

resource "google_monitoring_dashboard" "this" {
  project = var.project

  dashboard_json = jsonencode({
    displayName = var.name_prefix
    gridLayout = {
      columns = "2"
      widgets = [
        for chart in concat(local.first_charts, local.signal_charts) : {
          title = chart.title
          xyChart = {
            dataSets = [{
              plotType           = chart.aligner == "ALIGN_DELTA" ? "STACKED_BAR" : "LINE"
              minAlignmentPeriod = "${local.interval_minutes * 60}s"
              timeSeriesQuery = {
                timeSeriesFilter = {
                  filter = chart.filter
                  aggregation = {
                    alignmentPeriod    = "${local.interval_minutes * 60}s"
                    perSeriesAligner   = chart.aligner
                    crossSeriesReducer = chart.reducer
                    groupByFields      = chart.by
                  }
                }
              }
            }]
          }
        }
      ]
    }
  })
}
