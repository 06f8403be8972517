# infra/variables.tf says what each of them means, and checks it.

variable "project" {
  description = "Google Cloud project of the ledger."
  type        = string
}

variable "database" {
  description = "Name of the Firestore database."
  type        = string
}

variable "location" {
  description = "Location of the Firestore database."
  type        = string
}

variable "backup_days" {
  description = "Days that each daily backup is kept; 0 makes no backups."
  type        = number
}

variable "point_in_time_recovery" {
  description = "Keep every version of every document for 7 days."
  type        = bool
}

variable "delete_protection" {
  description = "Keep the ledger, with all that is configured in it, when everything else is destroyed."
  type        = bool
}
