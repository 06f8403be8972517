provider "google" {}

locals {
  environments = {
    staging    = { region = "europe-west1", notification_emails = [] }
    production = { region = "europe-west4", notification_emails = ["ops@example.com"] }
  }
}

variable "pager" {
  type = string # projects/my-project/notificationChannels/123
}

module "opledger" {
  source   = "../.."
  for_each = local.environments

  project               = "my-project"
  region                = each.value.region
  name_prefix           = "opledger-${each.key}"
  firestore_database    = "opledger-${each.key}"
  source_archive_dir    = "./tests/source"
  notification_emails   = each.value.notification_emails
  notification_channels = [var.pager]
}

output "next" {
  value = { for name, environment in module.opledger : name => environment.next }
}
