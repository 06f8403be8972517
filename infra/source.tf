# The staged packages. An object's name carries the hash of its content, so that a change, and only a change, deploys again.

resource "google_storage_bucket" "source" {
  project  = var.project
  name     = "${local.dashed_project}-${var.name_prefix}-source"
  location = var.region
  labels   = local.labels

  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true # all that is in it can be staged again

  depends_on = [google_project_service.this]
}

resource "google_storage_bucket_object" "source" {
  for_each = toset(["webhook", "register", "reconcile", "effects"])

  bucket = google_storage_bucket.source.name
  name   = "${each.key}-${filesha256("${var.source_archive_dir}/${each.key}.zip")}.zip"
  source = "${var.source_archive_dir}/${each.key}.zip"
}

# Builds run as an account of their own. The default one has no rights in newer projects and those of an Editor in older ones.
resource "google_service_account" "build" {
  project      = var.project
  account_id   = "${var.name_prefix}-build"
  display_name = "opledger: builds the functions of ${var.name_prefix}"

  depends_on = [google_project_service.this]
}

resource "google_artifact_registry_repository" "functions" {
  project       = var.project
  location      = var.region
  repository_id = "${var.name_prefix}-functions"
  format        = "DOCKER"
  description   = "Built functions of ${var.name_prefix}"
  labels        = local.labels

  # Each deployment adds four images. images.json keeps the newest of each function, for a roll-back.
  dynamic "cleanup_policies" {
    for_each = jsondecode(file("${path.module}/images.json"))

    content {
      id     = cleanup_policies.value.name
      action = upper(cleanup_policies.value.action.type)

      dynamic "condition" {
        for_each = [for condition in [try(cleanup_policies.value.condition, null)] : condition if condition != null]
        content { older_than = condition.value.olderThan }
      }

      dynamic "most_recent_versions" {
        for_each = [for newest in [try(cleanup_policies.value.mostRecentVersions, null)] : newest if newest != null]
        content { keep_count = most_recent_versions.value.keepCount }
      }
    }
  }

  depends_on = [google_project_service.this]
}

resource "google_artifact_registry_repository_iam_member" "build_writes" {
  project    = var.project
  location   = var.region
  repository = google_artifact_registry_repository.functions.name
  role       = "roles/artifactregistry.writer"
  member     = google_service_account.build.member
}

resource "google_project_iam_member" "build_logs" {
  project = var.project
  role    = "roles/logging.logWriter"
  member  = google_service_account.build.member
}

# Cloud Functions copies the source to buckets that it makes itself, with the first function of a region. roles.json has the names
# that Google documents; the build reads those of its own region only.
locals {
  source_buckets = [
    for name in one([for role in jsondecode(file("${path.module}/roles.json")) : role.buckets if role.on == "source"]) :
    replace(replace(replace(name, "NUMBER", data.google_project.this.number), "PROJECT", local.dashed_project), "REGION", var.region)
  ]

  # A bucket's name has no colon and, unless it is a domain, no dot.
  dashed_project = replace(replace(var.project, ":", "-"), ".", "-")
}

resource "google_project_iam_member" "build_reads_source" {
  project = var.project
  role    = "roles/storage.objectViewer"
  member  = google_service_account.build.member

  condition {
    title      = "source of functions"
    expression = join(" || ", [for name in local.source_buckets : "resource.name.startsWith(\"projects/_/buckets/${name}\")"])
  }
}
