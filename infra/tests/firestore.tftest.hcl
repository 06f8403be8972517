mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

variables {
  project             = "a-project"
  source_archive_dir  = "./tests/source"
  notification_emails = ["ops@example.com"]
  waits               = { grants = 0, metrics = 0 } # nothing is new to a mock
}

run "the_database_is_named_optimistic_and_protected" {
  assert {
    condition = (module.ledger.database.name == "opledger" && module.ledger.database.type == "FIRESTORE_NATIVE" &&
    module.ledger.database.concurrency_mode == "OPTIMISTIC" && module.ledger.database.location_id == "europe-west1")
    error_message = "The ledger needs a native database with optimistic concurrency, in the region."
  }

  assert {
    condition     = module.ledger.database.delete_protection_state == "DELETE_PROTECTION_ENABLED" && module.ledger.database.deletion_policy == "ABANDON"
    error_message = "The ledger must outlive terraform destroy."
  }

  assert {
    condition = (module.ledger.backups[0].database == "opledger" && module.ledger.backups[0].retention == "604800s" &&
    length(module.ledger.backups[0].daily_recurrence) == 1)
    error_message = "The ledger must be backed up daily, and each backup kept for a week."
  }

  assert {
    condition     = module.ledger.database.point_in_time_recovery_enablement == "POINT_IN_TIME_RECOVERY_DISABLED"
    error_message = "Point-in-time recovery costs money, and must be asked for."
  }

  assert {
    condition = (length(google_artifact_registry_repository.functions.cleanup_policies) == 2 &&
      one([for policy in google_artifact_registry_repository.functions.cleanup_policies : policy.most_recent_versions[0].keep_count if policy.action == "KEEP"]) == 5 &&
    one([for policy in google_artifact_registry_repository.functions.cleanup_policies : policy.condition[0].older_than if policy.action == "DELETE"]) == "2592000s")
    error_message = "Images of old deployments must go, and the newest stay for a roll-back."
  }

  assert {
    condition = toset([
      for key, field in module.ledger.fields : key if length(field.ttl_config) == 1
    ]) == toset(["operations.expireAt", "deliveries.expireAt", "effects.expireAt", "items.expireAt", "intents.expireAt", "quarantine.expireAt", "parts.expireAt"])
    error_message = "L3: every collection has its own TTL policy."
  }

  assert {
    condition = alltrue([
      for key in concat(
        [for field in jsondecode(file("./firestore.json")).unindexed : "${field.collection}.${field.name}" if field.name != "*"],
        [for field in jsondecode(file("./firestore.json")).expiry : "${field.collection}.${field.name}"],
      ) : length(module.ledger.fields[key].index_config[0].indexes) == 0
    ])
    error_message = "What is unindexed must have no index at all."
  }

  assert {
    condition = alltrue([
      for key, orders in {
        "operations.dueAt"     = ["COLLECTION_GROUP ASCENDING"], "effects.dueAt" = ["COLLECTION_GROUP ASCENDING"],
        "operations.createdAt" = ["COLLECTION_GROUP DESCENDING"], "quarantine.receivedAt" = ["COLLECTION_GROUP DESCENDING"],
        "effects.createdAt"    = ["COLLECTION ASCENDING", "COLLECTION DESCENDING"], "items.failedAt" = ["COLLECTION ASCENDING"],
      } :
      toset([for index in module.ledger.fields[key].index_config[0].indexes : "${index.query_scope} ${index.order}"]) == toset(orders)
    ])
    error_message = "L4, R5: what is due is found across all operations, and what is under one document by its own collection."
  }

  assert {
    condition = length(module.ledger.rest) == 10 && alltrue([
      for collection, field in module.ledger.rest :
      field.collection == collection && field.field == "*" && length(field.index_config) == 1 && length(field.index_config[0].indexes) == 0
    ])
    error_message = "No other field of a collection has an index."
  }

  assert {
    condition = toset([
      for index in module.ledger.indexes :
      "${index.query_scope} ${index.collection} ${join(" ", [for field in index.fields : "${field.field_path}:${field.order}"])}"
      ]) == toset([
      for index in jsondecode(file("./firestore.json")).indexes :
      "COLLECTION_GROUP ${index.collection} ${join(" ", [for field in index.fields : "${field.name}:${try(field.descending, false) ? "DESCENDING" : "ASCENDING"}"])}"
      if length(index.fields) > 1
    ])
    error_message = "Each index of several fields in firestore.json must be made."
  }

  assert {
    condition = alltrue(concat(
      [for index in module.ledger.indexes : index.timeouts.create == "6h" && index.timeouts.delete == "6h"],
      [for field in module.ledger.fields : field.timeouts.create == "6h" && field.timeouts.update == "6h"],
    ))
    error_message = "The index of a large collection is built for hours, and an apply that ends before it is refused the next time."
  }

  assert {
    condition = alltrue(concat(
      [for field in module.ledger.fields : field.database == "opledger"],
      [for index in module.ledger.indexes : index.database == "opledger"],
    ))
    error_message = "Indexes belong to the ledger's database."
  }
}

run "the_default_database_is_possible" {
  variables {
    firestore_database = "(default)"
    firestore_location = "eur3"
    delete_protection  = false
  }

  assert {
    condition     = module.ledger.database.name == "(default)" && module.ledger.database.location_id == "eur3" && module.ledger.database.deletion_policy == "DELETE"
    error_message = "The database must be as set."
  }

  assert {
    condition     = google_cloudfunctions2_function.webhook.service_config[0].environment_variables.OPLEDGER_STORE == "firestore"
    error_message = "The functions must use the default database."
  }
}

run "backups_and_recovery_are_chosen" {
  variables {
    backup_days            = 0
    point_in_time_recovery = true
    delete_protection      = false # in the last run: the end of the test deletes what was made
  }

  assert {
    condition     = length(module.ledger.backups) == 0 && module.ledger.database.point_in_time_recovery_enablement == "POINT_IN_TIME_RECOVERY_ENABLED"
    error_message = "0 days make no backups; recovery must be on where it is asked for."
  }
}

run "a_backup_is_kept_for_at_most_14_weeks" {
  command = plan

  variables {
    backup_days = 99
  }

  expect_failures = [var.backup_days]
}
