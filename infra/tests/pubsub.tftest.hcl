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

run "effects_are_pushed_with_a_token_retried_and_kept_in_the_end" {
  assert {
    condition     = google_pubsub_subscription.effects.push_config[0].push_endpoint == "${google_cloudfunctions2_function.effects.service_config[0].uri}/projects/a-project/topics/opledger-effects"
    error_message = "The functions framework takes the topic from the path of a push."
  }

  assert {
    condition = (google_pubsub_subscription.effects.push_config[0].oidc_token[0].audience == google_cloudfunctions2_function.effects.service_config[0].uri &&
    google_pubsub_subscription.effects.push_config[0].oidc_token[0].service_account_email == google_service_account.push.email)
    error_message = "A push must carry a token of the push account, made for Effects."
  }

  assert {
    condition     = google_pubsub_subscription.effects.retry_policy[0].minimum_backoff == "10s" && google_pubsub_subscription.effects.retry_policy[0].maximum_backoff == "600s"
    error_message = "Without a retry policy a push that fails is repeated without a pause."
  }

  assert {
    condition     = google_pubsub_subscription.effects.dead_letter_policy[0].dead_letter_topic == google_pubsub_topic.dead.id && google_pubsub_subscription.effects.dead_letter_policy[0].max_delivery_attempts == 100
    error_message = "What is never taken must go to the dead-letter topic."
  }

  assert {
    condition     = google_pubsub_subscription.dead.topic == google_pubsub_topic.dead.id && length(google_pubsub_subscription.dead.push_config) == 0
    error_message = "Dead letters must wait in a pull subscription."
  }

  assert {
    condition     = google_pubsub_subscription.effects.expiration_policy[0].ttl == "" && google_pubsub_subscription.dead.expiration_policy[0].ttl == ""
    error_message = "A subscription must not go because nothing happened for a month."
  }

  assert {
    condition = [
      "${google_pubsub_topic_iam_member.pubsub_publishes_dead.role} ${google_pubsub_topic_iam_member.pubsub_publishes_dead.topic} ${google_pubsub_topic_iam_member.pubsub_publishes_dead.member}",
      "${google_pubsub_subscription_iam_member.pubsub_acknowledges_dead.role} ${google_pubsub_subscription_iam_member.pubsub_acknowledges_dead.subscription} ${google_pubsub_subscription_iam_member.pubsub_acknowledges_dead.member}",
      ] == [
      "roles/pubsub.publisher opledger-effects-dead serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com",
      "roles/pubsub.subscriber opledger-effects serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com",
    ]
    error_message = "Pub/Sub's own agent moves dead letters."
  }
}
