# The ledger's resources as they stood before there was a module: at the root. tests/upgrade.tftest.hcl begins with them.
variable "project" {
  type = string
}

locals {
  firestore = jsondecode(file("${path.module}/../../firestore.json"))

  composite = {
    for index in local.firestore.indexes :
    join(".", concat([index.collection], [for field in index.fields : "${field.name}${try(field.descending, false) ? "-desc" : ""}"])) => index
    if length(index.fields) > 1
  }

  fields = concat(local.firestore.expiry, [for field in local.firestore.unindexed : field if field.name != "*"], [
    for index in local.firestore.indexes : { collection = index.collection, name = index.fields[0].name } if length(index.fields) == 1
  ])
}

resource "google_firestore_database" "ledger" {
  project     = var.project
  name        = "opledger"
  location_id = "europe-west1"
  type        = "FIRESTORE_NATIVE"
}

resource "google_firestore_backup_schedule" "daily" {
  count = 1

  project   = var.project
  database  = google_firestore_database.ledger.name
  retention = "604800s"
}

resource "google_firestore_index" "composite" {
  for_each = local.composite

  project    = var.project
  database   = google_firestore_database.ledger.name
  collection = each.value.collection

  dynamic "fields" {
    for_each = each.value.fields
    content { field_path = fields.value.name }
  }
}

resource "google_firestore_field" "this" {
  for_each = toset([for field in local.fields : "${field.collection}.${field.name}"])

  project    = var.project
  database   = google_firestore_database.ledger.name
  collection = split(".", each.key)[0]
  field      = split(".", each.key)[1]
}

output "names" {
  value = merge(
    { database = google_firestore_database.ledger.uid, backups = google_firestore_backup_schedule.daily[0].name },
    { for key, index in google_firestore_index.composite : key => index.name },
    { for key, field in google_firestore_field.this : key => field.name },
  )
}
