# The ledger is a module, so that it can outlive the rest: see ledger/main.tf.
module "ledger" {
  source = "./ledger"

  project                = var.project
  database               = var.firestore_database
  location               = coalesce(var.firestore_location, var.region)
  backup_days            = var.backup_days
  point_in_time_recovery = var.point_in_time_recovery
  delete_protection      = var.delete_protection

  depends_on = [google_project_service.this]
}

# A deployment from before there was the module keeps its ledger, and all that is in it.
moved {
  from = google_firestore_database.ledger
  to   = module.ledger.google_firestore_database.ledger
}

moved {
  from = google_firestore_backup_schedule.daily
  to   = module.ledger.google_firestore_backup_schedule.daily
}

moved {
  from = google_firestore_index.composite
  to   = module.ledger.google_firestore_index.composite
}

moved {
  from = google_firestore_field.this
  to   = module.ledger.google_firestore_field.this
}
