# The secrets, without what is in them: versions are added with gcloud or opledger, so that no state file holds a secret.

resource "google_secret_manager_secret" "webhook" {
  project   = var.project
  secret_id = "${var.name_prefix}-webhook-secret"
  labels    = local.labels

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.this]
}

resource "google_secret_manager_secret" "gemini_api_key" {
  project   = var.project
  secret_id = "${var.name_prefix}-gemini-api-key"
  labels    = local.labels

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.this]
}

resource "google_secret_manager_secret" "effect" {
  count = var.sign_effects ? 1 : 0

  project   = var.project
  secret_id = "${var.name_prefix}-effect-secret"
  labels    = local.labels

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.this]
}
