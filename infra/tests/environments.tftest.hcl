# A root of an operator's own, with two environments. infra/README.md links it.
mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

run "two_environments_stand_beside_each_other" {
  command = plan

  module {
    source = "./tests/environments"
  }

  variables {
    pager = "projects/my-project/notificationChannels/123"
  }

  assert {
    condition     = keys(module.opledger) == ["production", "staging"]
    error_message = "Each environment must be planned."
  }
}
