# A message names an effect that may be due; the ledger decides. A lost message costs time only, since reconciliation publishes
# whatever is overdue again.
resource "google_pubsub_topic" "effects" {
  project = var.project
  name    = "${var.name_prefix}-effects"
  labels  = local.labels

  depends_on = [google_project_service.this]
}

resource "google_pubsub_topic" "dead" {
  project = var.project
  name    = "${var.name_prefix}-effects-dead"
  labels  = local.labels

  depends_on = [google_project_service.this]
}

# The subscription is our own and not Eventarc's, which can have no dead-letter topic.
resource "google_pubsub_subscription" "effects" {
  project = var.project
  name    = "${var.name_prefix}-effects"
  topic   = google_pubsub_topic.effects.id
  labels  = local.labels

  # Longer than the function may run, so that a message is not redelivered while it is being worked on.
  ack_deadline_seconds       = 600
  message_retention_duration = "604800s"

  push_config {
    # Any path works; this one names the topic in the log of requests.
    push_endpoint = "${google_cloudfunctions2_function.effects.service_config[0].uri}/projects/${var.project}/topics/${google_pubsub_topic.effects.name}"

    oidc_token {
      service_account_email = google_service_account.push.email
      audience              = google_cloudfunctions2_function.effects.service_config[0].uri
    }
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }

  # Effects refuses only what the ledger could not record, but while Firestore is unavailable that is everything:
  # few attempts would make good messages dead letters.
  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.dead.id
    max_delivery_attempts = 100
  }

  expiration_policy {
    ttl = "" # never
  }
}

# Dead letters wait here for the operator. Without a subscription the topic would drop them.
resource "google_pubsub_subscription" "dead" {
  project = var.project
  name    = "${var.name_prefix}-effects-dead"
  topic   = google_pubsub_topic.dead.id
  labels  = local.labels

  ack_deadline_seconds       = 60
  message_retention_duration = "604800s"

  expiration_policy {
    ttl = "" # never
  }
}

# Pub/Sub signs its pushes as this account, and only this account may call the Effects function.
resource "google_service_account" "push" {
  project      = var.project
  account_id   = "${var.name_prefix}-push"
  display_name = "opledger: Pub/Sub pushes to ${var.name_prefix}-effects"

  depends_on = [google_project_service.this]
}

locals {
  pubsub_agent = "serviceAccount:service-${data.google_project.this.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
}

resource "google_service_account_iam_member" "pubsub_signs_as_push" {
  service_account_id = google_service_account.push.name
  role               = "roles/iam.serviceAccountOpenIdTokenCreator"
  member             = local.pubsub_agent

  depends_on = [terraform_data.grants_known] # the agent is made by the first use of Pub/Sub
}

# A message becomes a dead letter by being published there and acknowledged here.
resource "google_pubsub_topic_iam_member" "pubsub_publishes_dead" {
  project = var.project
  topic   = google_pubsub_topic.dead.name
  role    = "roles/pubsub.publisher"
  member  = local.pubsub_agent

  depends_on = [terraform_data.grants_known]
}

resource "google_pubsub_subscription_iam_member" "pubsub_acknowledges_dead" {
  project      = var.project
  subscription = google_pubsub_subscription.effects.name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent
}
