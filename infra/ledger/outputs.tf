# What was made, whole: the functions use the database's name, and tests look at the rest.

output "database" {
  description = "The Firestore database."
  value       = google_firestore_database.ledger
}

output "backups" {
  description = "The daily backup schedule, or none."
  value       = google_firestore_backup_schedule.daily
}

output "indexes" {
  description = "The indexes of several fields."
  value       = google_firestore_index.composite
}

output "fields" {
  description = "The fields with indexes of their own, with none, or with a TTL policy."
  value       = google_firestore_field.this
}

output "rest" {
  description = "What is said of all other fields, by the collection."
  value       = google_firestore_field.rest
}
