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
  region              = "us-central1"
  job_bucket          = "a-jobs"
}

run "the_bucket_of_jobs_is_closed_and_keeps_what_jobs_need" {
  assert {
    condition = [
      google_storage_bucket.jobs[0].name, google_storage_bucket.jobs[0].location, google_storage_bucket.jobs[0].public_access_prevention,
    ] == ["a-jobs", "us-central1", "enforced"] && google_storage_bucket.jobs[0].uniform_bucket_level_access
    error_message = "The bucket of jobs is in the region, has uniform access, and is never public."
  }

  assert {
    condition     = google_storage_bucket.jobs[0].force_destroy != true
    error_message = "A bucket with results must not be deleted."
  }

  assert {
    condition = [
      for rule in google_storage_bucket.jobs[0].lifecycle_rule : [one(rule.action).type, one(rule.condition).age, one(rule.condition).matches_prefix[0]]
    ] == [["Delete", 2, ".unfinished/"]]
    error_message = "By age only that is deleted which a crash left: ${jsonencode(google_storage_bucket.jobs[0].lifecycle_rule)}"
  }

  assert {
    condition = [
      for f in [google_cloudfunctions2_function.register, google_cloudfunctions2_function.reconcile, google_cloudfunctions2_function.effects] : f.service_config[0].environment_variables.OPLEDGER_JOB_STORAGE
    ] == ["gs://a-jobs", "gs://a-jobs", "gs://a-jobs"]
    error_message = "These must know where jobs keep their objects."
  }
}
