# A state from before the ledger was a module is taken over: nothing of it is destroyed or made again. The mock gives every resource
# that is made a name of its own. state_key needs Terraform 1.11.
mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

variables {
  project             = "a-project"
  source_archive_dir  = "./tests/source"
  notification_emails = ["ops@example.com"]
  delete_protection   = false                       # or the end of the test could not delete the ledger
  waits               = { grants = 0, metrics = 0 } # nothing is new to a mock
}

run "before" {
  state_key = "upgraded"

  module {
    source = "./tests/before"
  }
}

run "after" {
  state_key = "upgraded"

  assert {
    condition = length(run.before.names) > 30 && run.before.names == merge(
      { database = module.ledger.database.uid, backups = module.ledger.backups[0].name },
      { for key, index in module.ledger.indexes : key => index.name },
      { for key, field in module.ledger.fields : key => field.name },
    )
    error_message = "The ledger of an older state must be taken over as it is."
  }
}
