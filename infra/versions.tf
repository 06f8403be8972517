terraform {
  required_version = ">= 1.9"

  required_providers {
    google = {
      source = "hashicorp/google"
      # The one that the tests' schema is of. A lock file adds its hashes: see README.md, "With Terraform".
      version = "6.50.0"
    }
  }
}

# There is no provider block: a module with one could have no for_each, count or depends_on. Every resource names its
# project, so that the default provider needs no settings: applied by itself, infra/ is a root.

data "google_project" "this" {
  project_id = var.project

  depends_on = [google_project_service.this]
}
