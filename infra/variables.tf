# Where, and under which names.

variable "project" {
  description = "Google Cloud project to deploy to, by its id."
  type        = string

  validation {
    condition     = can(regex("^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "project must be a project id such as my-project-123, not its number or its display name."
  }
}

variable "region" {
  description = "Region of the functions, the scheduler, the secrets and the uploaded source."
  type        = string
  default     = "europe-west1"

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "region must be one such as europe-west1."
  }
}

variable "name_prefix" {
  description = "Begins the name of everything that is made, so that several environments share a project. Each needs a firestore_database of its own, too."
  type        = string
  default     = "opledger"

  # A service account's name has at most 30 characters, and the longest suffix is -reconcile or -scheduler.
  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$", var.name_prefix))
    error_message = "name_prefix must be 1 to 20 lower-case letters, digits and hyphens, begin with a letter and not end with a hyphen."
  }
}

variable "firestore_database" {
  description = "Firestore database that the ledger is kept in. It is made here; \"(default)\" is possible where the project has none yet."
  type        = string
  default     = "opledger"

  validation {
    condition     = var.firestore_database == "(default)" || can(regex("^[a-z][a-z0-9-]{2,61}[a-z0-9]$", var.firestore_database))
    error_message = "firestore_database must be (default), or 4 to 63 lower-case letters, digits and hyphens that begin with a letter and do not end with a hyphen."
  }
}

variable "firestore_location" {
  description = "Location of the Firestore database, such as europe-west1 or the multi-region eur3. It can never be changed. Null: the region."
  type        = string
  default     = null
}

variable "backup_days" {
  description = "Days that each daily backup of the ledger is kept, 1 to 98; 0 makes no backups. Backups are billed by their size."
  type        = number
  default     = 7

  validation {
    condition     = var.backup_days >= 0 && var.backup_days <= 98 && floor(var.backup_days) == var.backup_days
    error_message = "backup_days must be a whole number from 0, for no backups, to 98: Firestore keeps a backup for at most 14 weeks."
  }
}

variable "point_in_time_recovery" {
  description = "Keep every version of every document for 7 days, so that the ledger can be read and restored as of any minute. Billed by the size of those versions."
  type        = bool
  default     = false
}

variable "delete_protection" {
  description = "Keep the ledger when everything else is destroyed. False lets terraform destroy delete it, with every record."
  type        = bool
  default     = true
}

variable "source_archive_dir" {
  description = "Folder with webhook.zip, register.zip, reconcile.zip and effects.zip, as scripts/stage makes them."
  type        = string
  default     = "../dist"

  validation {
    condition = alltrue([
      for function in ["webhook", "register", "reconcile", "effects"] : fileexists("${var.source_archive_dir}/${function}.zip")
    ])
    error_message = "source_archive_dir must hold webhook.zip, register.zip, reconcile.zip and effects.zip; make them with: go run ./scripts/stage dist"
  }
}

variable "waits" {
  description = "Seconds to wait until what is new is known everywhere: accounts and roles before the functions are built, metrics before there are alerts on them. Only the first apply waits, and one that adds some."
  type = object({
    grants  = optional(number, 120)
    metrics = optional(number, 600)
  })
  default = {}

  validation {
    condition     = alltrue([for seconds in values(var.waits) : seconds >= 0 && floor(seconds) == seconds && seconds <= 3600])
    error_message = "waits must be whole seconds, an hour at most; Google says 2 minutes for roles and 10 for metrics."
  }
}

# Who may call what, and how much of it runs.

variable "public_webhook" {
  description = "Make the webhook public, so that Gemini can call it. False if the organisation forbids allUsers: infra/README.md has the alternative."
  type        = bool
  default     = true
}

variable "webhook_ingress" {
  description = "From where Cloud Run lets requests reach the webhook: ALLOW_ALL, or ALLOW_INTERNAL_AND_GCLB for a load balancer of yours alone, such as one with Cloud Armor. webhook_url is then its address."
  type        = string
  default     = "ALLOW_ALL"

  validation {
    condition     = var.webhook_ingress == "ALLOW_ALL" || (var.webhook_ingress == "ALLOW_INTERNAL_AND_GCLB" && var.webhook_url != null)
    error_message = "webhook_ingress must be ALLOW_ALL, or ALLOW_INTERNAL_AND_GCLB with webhook_url, the load balancer's address."
  }
}

variable "register_callers" {
  description = "Who may register operations, such as serviceAccount:submitter@my-project.iam.gserviceaccount.com."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for member in var.register_callers : can(regex("^(user|group|serviceAccount|domain|principal|principalSet):.+$", member))])
    error_message = "register_callers must be IAM members such as serviceAccount:NAME@PROJECT.iam.gserviceaccount.com; allUsers and allAuthenticatedUsers are not allowed."
  }
}

variable "results_buckets" {
  description = "Cloud Storage buckets, which are there already, that results effects write to: Effects may create objects in them."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for bucket in var.results_buckets : can(regex("^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$", bucket))])
    error_message = "results_buckets must be names of buckets such as my-results, without gs:// and without a path."
  }
}

variable "job_bucket" {
  description = "Name of the bucket that is made for what jobs read and write; names of buckets are unique worldwide. Null: no jobs."
  type        = string
  default     = null

  validation {
    condition     = var.job_bucket == null || can(regex("^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$", var.job_bucket))
    error_message = "job_bucket must be the name of a bucket such as my-project-jobs, without gs:// and without a path."
  }
}

variable "scaling" {
  description = "Instances of each function, 1 vCPU each, requests that one instance takes at once, and its memory. A new project has 20 vCPU in a region, which the default maxima share."
  type = object({
    webhook = optional(object({
      min_instances = optional(number, 0), max_instances = optional(number, 8), concurrency = optional(number, 80), memory = optional(string, "512Mi")
    }), {})
    register = optional(object({
      min_instances = optional(number, 0), max_instances = optional(number, 3), concurrency = optional(number, 80), memory = optional(string, "512Mi")
    }), {})
    reconcile = optional(object({
      min_instances = optional(number, 0), max_instances = optional(number, 2), concurrency = optional(number, 1), memory = optional(string, "512Mi")
    }), {})
    effects = optional(object({
      min_instances = optional(number, 0), max_instances = optional(number, 7), concurrency = optional(number, 20), memory = optional(string, "512Mi")
    }), {})
  })
  default = {}

  validation {
    condition = alltrue([
      for function in values(var.scaling) : function.min_instances >= 0 && function.max_instances >= max(1, function.min_instances) && function.concurrency >= 1
    ])
    error_message = "scaling: max_instances must be at least 1 and at least min_instances, and concurrency at least 1."
  }
}

variable "effects_vpc" {
  description = "A Serverless VPC Access connector through which Effects reaches receivers, such as projects/my-project/locations/europe-west1/connectors/mine. egress is PRIVATE_RANGES_ONLY, or ALL_TRAFFIC, for a static address with Cloud NAT. Null: no connector."
  type        = object({ connector = string, egress = optional(string, "PRIVATE_RANGES_ONLY") })
  default     = null

  validation {
    condition = var.effects_vpc == null || (
      can(regex("^projects/[^/]+/locations/[^/]+/connectors/[^/]+$", var.effects_vpc.connector)) &&
      try(contains(["PRIVATE_RANGES_ONLY", "ALL_TRAFFIC"], var.effects_vpc.egress), false)
    )
    error_message = "effects_vpc: connector must be such as projects/P/locations/R/connectors/NAME, and egress PRIVATE_RANGES_ONLY or ALL_TRAFFIC."
  }
}

# Who is told.

variable "notification_emails" {
  description = "Addresses that alerts are sent to."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for address in var.notification_emails : can(regex("^[^@\\s]+@[^@\\s]+$", address))])
    error_message = "notification_emails must be e-mail addresses."
  }
}

variable "notification_channels" {
  description = "Further channels that are there already, such as one for a pager: projects/PROJECT/notificationChannels/ID."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for channel in var.notification_channels : can(regex("^projects/[^/]+/notificationChannels/[0-9]+$", channel))])
    error_message = "notification_channels must be names such as projects/my-project/notificationChannels/123; list them with: gcloud beta monitoring channels list"
  }
}

variable "playbooks_url" {
  description = "Where the playbooks are on the web; each alert links its own, and carries its text."
  type        = string
  default     = "https://github.com/opledger/opledger/blob/main/infra/playbooks"
}
