# A deployment stays where it is: secrets and a database cannot move, and Terraform would replace them.
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

run "it_is_deployed" {
}

run "another_region_is_refused" {
  command = plan
  variables {
    region = "us-central1"
  }
  expect_failures = [terraform_data.place]
}

run "another_prefix_is_refused" {
  command = plan
  variables {
    name_prefix = "other"
  }
  expect_failures = [terraform_data.place]
}

run "the_rest_may_change" {
  command = plan
  variables {
    interval    = "10m"
    backup_days = 14
  }
  assert {
    condition     = terraform_data.place.output == { region = "europe-west1", name_prefix = "opledger" }
    error_message = "The place is that of the first apply."
  }
}
