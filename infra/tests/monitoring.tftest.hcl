mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }

  mock_resource "google_monitoring_dashboard" {
    defaults = { id = "projects/123456789012/dashboards/7" }
  }
}

variables {
  project             = "a-project"
  source_archive_dir  = "./tests/source"
  notification_emails = ["ops@example.com"]
  delete_protection   = false                       # the end of a test deletes what was made
  waits               = { grants = 0, metrics = 0 } # nothing is new to a mock
}

run "alerts_tell_somebody_what_to_do" {
  variables {
    notification_channels = ["projects/a-project/notificationChannels/7"]
  }

  assert {
    condition = alltrue([
      for policy in concat(values(google_monitoring_alert_policy.signal), values(google_monitoring_alert_policy.platform), [google_monitoring_alert_policy.webhook_unreachable[0]]) :
      toset(policy.notification_channels) == toset([google_monitoring_notification_channel.email["ops@example.com"].id, "projects/a-project/notificationChannels/7"])
    ])
    error_message = "Every alert must go to every channel."
  }

  assert {
    condition = alltrue([
      for policy in concat(values(google_monitoring_alert_policy.signal), values(google_monitoring_alert_policy.platform), [google_monitoring_alert_policy.webhook_unreachable[0]]) :
      fileexists("./playbooks/${basename(policy.documentation[0].links[0].url)}") && startswith(policy.documentation[0].content, "# ") &&
      length(policy.documentation[0].content) < 8192 &&
      strcontains(policy.documentation[0].content, "opledger environment --project=a-project --region=europe-west1 --prefix=opledger)")
    ])
    error_message = "Every alert must link its playbook and carry its text, which begins with the settings of this deployment."
  }

  assert {
    condition = alltrue([
      for policy in concat(values(google_monitoring_alert_policy.signal), values(google_monitoring_alert_policy.platform), [google_monitoring_alert_policy.webhook_unreachable[0]]) :
      [for link in policy.documentation[0].links : link.display_name] == ["Playbook", "Dashboard", "Ledger"] &&
      policy.documentation[0].links[1].url == output.dashboard_url && policy.documentation[0].links[2].url == output.ledger_url
    ])
    error_message = "Every alert must link its playbook, the dashboard and the ledger."
  }

  assert {
    condition     = toset(keys(google_monitoring_alert_policy.signal)) == toset([for signal in jsondecode(file("./signals.json")) : signal.name if can(signal.alert)])
    error_message = "There must be an alert for each signal that has one."
  }
}

run "filters_compare_our_fields_for_equality" {
  assert {
    condition     = toset(keys(google_logging_metric.this)) == toset([for signal in jsondecode(file("./signals.json")) : signal.name])
    error_message = "There must be a metric for each signal."
  }

  # field=("a" OR "b"), joined by AND, and nothing else: no substring, no pattern, no negation, no comparison
  assert {
    condition = alltrue([
      for name, metric in google_logging_metric.this : name == "schedule-failing" ||
      can(regex("^resource\\.type=\"cloud_run_revision\" AND resource\\.labels\\.service_name=\\(\"opledger-[a-z]+\"( OR \"opledger-[a-z]+\")*\\)( AND jsonPayload\\.[a-z]+=\\((\"[A-Za-z ;-]+\"|false|true)( OR \"[A-Za-z ;-]+\")*\\))+$", metric.filter))
    ])
    error_message = "Filters must compare for equality only: ${jsonencode([for metric in google_logging_metric.this : metric.filter])}"
  }

  assert {
    condition     = google_logging_metric.this["schedule-failing"].filter == "resource.type=\"cloud_scheduler_job\" AND resource.labels.job_id=\"opledger-reconcile\" AND severity=\"ERROR\""
    error_message = "Calls that never reach Reconcile are counted where Cloud Scheduler logs them."
  }

  assert {
    condition     = google_monitoring_alert_policy.signal["schedule-failing"].conditions[0].condition_threshold[0].filter == "metric.type=\"logging.googleapis.com/user/opledger-schedule-failing\" AND resource.type=\"cloud_scheduler_job\""
    error_message = "An alert must be on the resource that its metric counts."
  }

  assert {
    condition     = google_logging_metric.this["stale"].filter == "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=(\"opledger-webhook\") AND jsonPayload.event=(\"auth\") AND jsonPayload.reason=(\"stale-timestamp\") AND jsonPayload.source=(\"webhook\")"
    error_message = "W2: stale deliveries are counted apart, not ${google_logging_metric.this["stale"].filter}"
  }

  assert {
    condition     = strcontains(google_logging_metric.this["unmatched"].filter, "jsonPayload.registered=(false)")
    error_message = "K6: events that match nothing are counted."
  }

  assert {
    condition     = google_logging_metric.this["deliveries"].label_extractors == tomap({ outcome = "EXTRACT(jsonPayload.outcome)" })
    error_message = "Deliveries are counted by outcome."
  }

  assert {
    condition     = length(jsondecode(google_monitoring_dashboard.this.dashboard_json).gridLayout.widgets) == 10 + length(google_logging_metric.this)
    error_message = "Each signal has a chart, below the ten that a person on call reads first."
  }

  # backlog, latency, instances and Firestore are in no log
  assert {
    condition = alltrue([
      for metric in [
        "logging.googleapis.com/user/opledger-passes", "pubsub.googleapis.com/subscription/oldest_unacked_message_age",
        "pubsub.googleapis.com/subscription/num_undelivered_messages", "logging.googleapis.com/user/opledger-effects",
        "run.googleapis.com/request_count", "run.googleapis.com/request_latencies", "run.googleapis.com/container/instance_count",
        "firestore.googleapis.com/api/request_count", "firestore.googleapis.com/api/request_latencies",
        ] : length([
          for widget in slice(jsondecode(google_monitoring_dashboard.this.dashboard_json).gridLayout.widgets, 0, 10) : widget
          if strcontains(widget.xyChart.dataSets[0].timeSeriesQuery.timeSeriesFilter.filter, "metric.type=\"${metric}\"")
      ]) > 0
    ])
    error_message = "A chart is missing among the first ten."
  }
}

# A test of scripts/stage/signals compares what scripts/deploy makes with the same file. Both fill the names into the playbooks' text.
run "scripts_make_the_same" {
  state_key = "staging" # a deployment keeps the region and the prefix of its first apply

  variables {
    name_prefix           = "staging"
    region                = "us-central1"
    interval              = "10m"
    notification_emails   = []
    notification_channels = ["projects/a-project/notificationChannels/7"]
  }

  assert {
    condition = jsonencode(jsondecode(file("./tests/signals.json")).metrics) == jsonencode({
      for name, metric in google_logging_metric.this : name => {
        name            = metric.name
        description     = metric.description
        filter          = metric.filter
        labelExtractors = coalesce(metric.label_extractors, {})
        metricDescriptor = {
          metricKind  = metric.metric_descriptor[0].metric_kind
          valueType   = metric.metric_descriptor[0].value_type
          unit        = metric.metric_descriptor[0].unit
          displayName = metric.metric_descriptor[0].display_name
          labels      = [for label in metric.metric_descriptor[0].labels : { key = label.key, valueType = label.value_type }]
        }
      }
    })
    error_message = "The metrics must be as in tests/signals.json."
  }

  assert {
    condition = jsonencode(jsondecode(file("./tests/signals.json")).policies) == jsonencode({
      for name, policy in merge(google_monitoring_alert_policy.signal, google_monitoring_alert_policy.platform) : name => {
        displayName          = policy.display_name
        severity             = policy.severity
        combiner             = policy.combiner
        notificationChannels = policy.notification_channels
        userLabels           = policy.user_labels
        conditions = [for condition in policy.conditions : merge(
          { displayName = condition.display_name },
          { for threshold in condition.condition_threshold : "conditionThreshold" => merge({
            filter         = threshold.filter
            comparison     = threshold.comparison
            thresholdValue = threshold.threshold_value
            duration       = threshold.duration
            },
            { for filter in [threshold.denominator_filter] : "denominatorFilter" => filter if filter != null },
            { for all in [[for aggregation in threshold.denominator_aggregations : {
              alignmentPeriod    = aggregation.alignment_period
              perSeriesAligner   = aggregation.per_series_aligner
              crossSeriesReducer = aggregation.cross_series_reducer
            }]] : "denominatorAggregations" => all if length(all) > 0 },
            {
              aggregations = [for aggregation in threshold.aggregations : { for key, value in {
                alignmentPeriod    = aggregation.alignment_period
                perSeriesAligner   = aggregation.per_series_aligner
                crossSeriesReducer = aggregation.cross_series_reducer
              } : key => value if value != null }]
          }, { for data in [threshold.evaluation_missing_data] : "evaluationMissingData" => data if data != null }) },
          { for absent in condition.condition_absent : "conditionAbsent" => {
            filter   = absent.filter
            duration = absent.duration
            aggregations = [for aggregation in absent.aggregations : { for key, value in {
              alignmentPeriod    = aggregation.alignment_period
              perSeriesAligner   = aggregation.per_series_aligner
              crossSeriesReducer = aggregation.cross_series_reducer
            } : key => value if value != null }]
          } },
        )]
        documentation = {
          mimeType = policy.documentation[0].mime_type
          content  = ""
          links    = [for link in policy.documentation[0].links : { displayName = link.display_name, url = link.url }]
        }
      }
    })
    error_message = "The alerts must be as in tests/signals.json."
  }

  assert {
    condition = alltrue([
      for policy in concat(values(google_monitoring_alert_policy.signal), values(google_monitoring_alert_policy.platform)) :
      policy.documentation[0].content == replace(file("./playbooks/${basename(policy.documentation[0].links[0].url)}"),
      "--project=PROJECT --region=REGION --prefix=PREFIX", "--project=a-project --region=us-central1 --prefix=staging")
    ])
    error_message = "Every alert must carry its playbook, whose first command names this deployment."
  }
}

run "windows_follow_the_schedule_of_5_minutes" {
  assert {
    condition = (google_monitoring_alert_policy.signal["passes"].conditions[0].condition_threshold[0].aggregations[0].alignment_period == "900s" &&
      google_monitoring_alert_policy.signal["passes"].conditions[0].condition_threshold[0].comparison == "COMPARISON_LT" &&
    google_monitoring_alert_policy.signal["passes"].conditions[1].condition_absent[0].duration == "900s")
    error_message = "Passes that are absent for three intervals must alert, whether that shows as zeros or as nothing."
  }

  assert {
    condition = (google_monitoring_alert_policy.signal["stuck"].conditions[0].condition_threshold[0].aggregations[0].alignment_period == "600s" &&
      google_monitoring_alert_policy.signal["stuck"].conditions[0].condition_threshold[0].threshold_value == 0 &&
    google_monitoring_alert_policy.signal["stuck"].conditions[0].condition_threshold[0].comparison == "COMPARISON_GT")
    error_message = "R4: an operation that is stuck must alert."
  }

  assert {
    condition     = google_monitoring_alert_policy.signal["refused"].conditions[0].condition_threshold[0].aggregations[0].alignment_period == "3600s"
    error_message = "What has nothing to do with the schedule has a window of its own."
  }
}

run "windows_follow_a_slow_schedule" {
  variables {
    interval = "30m"
  }

  assert {
    condition = (google_monitoring_alert_policy.signal["passes"].conditions[0].condition_threshold[0].aggregations[0].alignment_period == "5400s" &&
      google_monitoring_alert_policy.signal["passes"].conditions[1].condition_absent[0].duration == "5400s" &&
    google_monitoring_alert_policy.signal["refused"].conditions[0].condition_threshold[0].aggregations[0].alignment_period == "3600s")
    error_message = "Three intervals of 30 minutes."
  }
}

run "windows_have_a_floor_under_a_fast_schedule" {
  variables {
    interval = "1m"
  }

  assert {
    condition     = google_monitoring_alert_policy.signal["passes"].conditions[1].condition_absent[0].duration == "300s"
    error_message = "A line of the log takes a while to count: no window under five minutes."
  }
}

run "the_webhook_is_looked_at_from_outside" {
  assert {
    condition     = google_monitoring_uptime_check_config.webhook[0].http_check[0].request_method == "GET" && google_monitoring_uptime_check_config.webhook[0].http_check[0].accepted_response_status_codes[0].status_value == 405
    error_message = "W7: a GET is answered 405 by a webhook that works."
  }

  assert {
    condition     = strcontains(google_monitoring_alert_policy.webhook_unreachable[0].conditions[0].condition_threshold[0].filter, google_monitoring_uptime_check_config.webhook[0].uptime_check_id)
    error_message = "The alert must be about this check."
  }

  assert {
    condition     = strcontains(google_monitoring_alert_policy.platform["dead-letter"].conditions[0].condition_threshold[0].filter, "resource.labels.subscription_id=\"opledger-effects-dead\"")
    error_message = "A dead letter must alert."
  }
}

# Where a push is refused no container runs, so that nothing is in the log.
run "refused_pushes_alert_within_the_hour" {
  assert {
    condition = google_monitoring_alert_policy.platform["backlog"].conditions[0].condition_threshold[0].filter == join(" AND ", [
      "metric.type=\"pubsub.googleapis.com/subscription/oldest_unacked_message_age\"", "resource.type=\"pubsub_subscription\"",
      "resource.labels.subscription_id=\"${google_pubsub_subscription.effects.name}\"",
    ])
    error_message = "The oldest message that Effects has not taken must be watched."
  }

  assert {
    condition = (google_monitoring_alert_policy.platform["backlog"].conditions[0].condition_threshold[0].threshold_value == 1800 &&
      google_monitoring_alert_policy.platform["backlog"].conditions[0].condition_threshold[0].comparison == "COMPARISON_GT" &&
    google_monitoring_alert_policy.platform["backlog"].conditions[0].condition_threshold[0].aggregations[0].per_series_aligner == "ALIGN_MAX")
    error_message = "Half an hour is the most that a message may wait."
  }
}

run "somebody_must_be_told" {
  variables {
    notification_emails = []
  }

  expect_failures = [check.somebody_is_told]
}
