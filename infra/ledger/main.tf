# The ledger: a Firestore database with its indexes, exemptions, TTL policies and backups. It is a module of its own because it
# outlives the functions. One command makes Terraform forget all of it: terraform state rm module.ledger

resource "google_firestore_database" "ledger" {
  project     = var.project
  name        = var.database
  location_id = var.location
  type        = "FIRESTORE_NATIVE"

  # Every commit of the ledger carries preconditions and is decided again when one fails. Pessimistic locks would only make
  # callers of one operation wait for each other.
  concurrency_mode            = "OPTIMISTIC"
  app_engine_integration_mode = "DISABLED"

  point_in_time_recovery_enablement = (
    var.point_in_time_recovery ? "POINT_IN_TIME_RECOVERY_ENABLED" : "POINT_IN_TIME_RECOVERY_DISABLED"
  )

  delete_protection_state = var.delete_protection ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  deletion_policy         = var.delete_protection ? "ABANDON" : "DELETE"
}

# A lost ledger is restored from the newest of these: playbooks/restored.md.
resource "google_firestore_backup_schedule" "daily" {
  count = var.backup_days > 0 ? 1 : 0

  project   = var.project
  database  = google_firestore_database.ledger.name
  retention = "${var.backup_days * 24 * 60 * 60}s"

  daily_recurrence {}
}

# firestore.json is the list of shared/ledger/firestore; a test holds them against each other.
locals {
  firestore = jsondecode(file("${path.module}/../firestore.json"))

  # An index of one field belongs to the field's own configuration, one of several is a composite index.
  composite_indexes = {
    for index in local.firestore.indexes :
    join(".", concat([index.collection], [for field in index.fields : "${field.name}${try(field.descending, false) ? "-desc" : ""}"])) => index
    if length(index.fields) > 1
  }

  expiring  = [for field in local.firestore.expiry : "${field.collection}.${field.name}"]
  unindexed = concat(local.expiring, [for field in local.firestore.unindexed : "${field.collection}.${field.name}" if field.name != "*"])

  # All indexes of a field, by itself.
  field_indexes = {
    for index in local.firestore.indexes :
    "${index.collection}.${index.fields[0].name}" => {
      scope = try(index.scope, "COLLECTION_GROUP")
      order = try(index.fields[0].descending, false) ? "DESCENDING" : "ASCENDING"
    }...
    if length(index.fields) == 1
  }
}

resource "google_firestore_index" "composite" {
  for_each = local.composite_indexes

  project     = var.project
  database    = google_firestore_database.ledger.name
  collection  = each.value.collection
  query_scope = "COLLECTION_GROUP"

  dynamic "fields" {
    for_each = each.value.fields

    content {
      field_path = fields.value.name
      order      = try(fields.value.descending, false) ? "DESCENDING" : "ASCENDING"
    }
  }

  # The index of a large collection is built for hours. After the default of 20 minutes the apply would fail, the build go on, and
  # the next apply be refused with 409: the index exists.
  timeouts {
    create = "6h"
    delete = "6h"
  }
}

# Fields with indexes of their own, with a TTL policy, or that were exempted before all others of their collections were.
resource "google_firestore_field" "this" {
  for_each = toset(concat(local.unindexed, keys(local.field_indexes)))

  project    = var.project
  database   = google_firestore_database.ledger.name
  collection = split(".", each.key)[0]
  field      = split(".", each.key)[1]

  # Empty: no index at all.
  index_config {
    dynamic "indexes" {
      for_each = lookup(local.field_indexes, each.key, [])

      content {
        order       = indexes.value.order
        query_scope = indexes.value.scope
      }
    }
  }

  dynamic "ttl_config" {
    for_each = contains(local.expiring, each.key) ? [true] : []
    content {}
  }

  timeouts {
    create = "6h"
    update = "6h"
    delete = "6h"
  }
}

# All other fields of a collection have no index: Firestore would index each both ways, and write every rising time at one end. The
# fields that are queried come first, so that their indexes are never taken away.
resource "google_firestore_field" "rest" {
  for_each = toset([for field in local.firestore.unindexed : field.collection if field.name == "*"])

  project    = var.project
  database   = google_firestore_database.ledger.name
  collection = each.key
  field      = "*"

  index_config {}

  timeouts {
    create = "6h"
    update = "6h"
    delete = "6h"
  }

  depends_on = [google_firestore_field.this]
}

# A database that is abandoned stays, but what else is in this module would be deleted from it: `terraform destroy` would leave a
# ledger that neither finds what is due nor forgets what has expired. This goes before all of that, and fails while the ledger is
# protected. prevent_destroy would not do: it can follow no variable.
resource "terraform_data" "kept" {
  input            = var.delete_protection
  triggers_replace = google_firestore_database.ledger.id

  provisioner "local-exec" {
    when    = destroy
    command = self.input ? "echo 'The ledger is protected, and was kept as it is, with its indexes and TTL policies. To make Terraform forget it: terraform state rm module.ledger (terraform state list has its whole address). To delete it with every record: apply with delete_protection = false first.' >&2; exit 1" : "true"
  }

  depends_on = [
    google_firestore_backup_schedule.daily,
    google_firestore_field.this,
    google_firestore_field.rest,
    google_firestore_index.composite,
  ]
}
