terraform {
  required_version = ">= 1.9"

  required_providers {
    google = {
      source = "hashicorp/google"
      # The one that the tests' schema is of. A lock file adds its hashes: see the README, "With Terraform".
      version = "6.50.0"
    }
  }
}

provider "google" {
  project = var.project
  region  = var.region
}

data "google_project" "this" {
  project_id = var.project

  depends_on = [google_project_service.this]
}
