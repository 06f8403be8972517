# The settings of the functions, by the names that settings.json has for them. Null leaves the default to the code; the
# table in shared/config/README.md says what it is. Durations are Go's: 90s, 5m, 6h.

variable "interval" {
  description = "OPLEDGER_INTERVAL: between two reconciliation passes, and between two look-ups of one operation. The windows of the alerts follow it."
  type        = string
  default     = "5m"

  validation {
    condition     = contains(["1m", "2m", "3m", "4m", "5m", "6m", "10m", "12m", "15m", "20m", "30m"], var.interval)
    error_message = "interval must divide the hour evenly for the schedule: 1m, 2m, 3m, 4m, 5m, 6m, 10m, 12m, 15m, 20m or 30m."
  }
}

variable "lookup_max_interval" {
  description = "OPLEDGER_LOOKUP_MAX_INTERVAL: the longest time between two look-ups of one operation, however old it is; an hour, or the interval, unless it is set."
  type        = string
  default     = null

  validation {
    condition     = var.lookup_max_interval == null || can(regex("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", var.lookup_max_interval)) && can(regex("[1-9]", var.lookup_max_interval))
    error_message = "lookup_max_interval must be a duration longer than zero, such as 1h."
  }

  # What is no duration is refused above.
  validation {
    condition = try(sum([
      for part in regexall("([0-9.]+)(ms|s|m|h)", var.lookup_max_interval) : tonumber(part[0]) * { ms = 1, s = 1000, m = 60000, h = 3600000 }[part[1]]
    ]) >= tonumber(trimsuffix(var.interval, "m")) * 60000, true)
    error_message = "lookup_max_interval must be at least interval."
  }
}

variable "grace" {
  description = "OPLEDGER_GRACE: reconciliation checks nothing younger."
  type        = string
  default     = null

  validation {
    condition     = var.grace == null || can(regex("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", var.grace)) && can(regex("[1-9]", var.grace))
    error_message = "grace must be a duration longer than zero, such as 90s."
  }
}

variable "stuck_after" {
  description = "OPLEDGER_STUCK_AFTER: an operation, or an intent without one, that is pending for longer is an alert; 24h for a batch and 6h for all else, unless it is set."
  type        = string
  default     = null

  validation {
    condition     = var.stuck_after == null || can(regex("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", var.stuck_after)) && can(regex("[1-9]", var.stuck_after))
    error_message = "stuck_after must be a duration longer than zero, such as 6h."
  }
}

variable "alert_every" {
  description = "OPLEDGER_ALERT_EVERY: an operation that stays pending is an alert again after this."
  type        = string
  default     = null

  validation {
    condition     = var.alert_every == null || can(regex("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", var.alert_every)) && can(regex("[1-9]", var.alert_every))
    error_message = "alert_every must be a duration longer than zero, such as 24h."
  }
}

variable "retention" {
  description = "OPLEDGER_RETENTION: records are kept for so long after they are settled and all their effects are done; 24h at least."
  type        = string
  default     = null

  validation {
    condition     = var.retention == null || can(regex("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", var.retention)) && can(regex("[1-9]", var.retention))
    error_message = "retention must be a duration longer than zero, such as 336h."
  }

  # What is no duration is refused above.
  validation {
    condition = try(sum([
      for part in regexall("([0-9.]+)(ms|s|m|h)", var.retention) : tonumber(part[0]) * { ms = 1, s = 1000, m = 60000, h = 3600000 }[part[1]]
    ]) >= 24 * 3600000, true)
    error_message = "retention must be at least 24h: Gemini delivers again for so long, and what was deleted meanwhile would look new."
  }
}

variable "claim_ttl" {
  description = "OPLEDGER_CLAIM_TTL: lease of an effect, 3 to 5 times as long as the effect usually takes."
  type        = string
  default     = null

  validation {
    condition     = var.claim_ttl == null || can(regex("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", var.claim_ttl)) && can(regex("[1-9]", var.claim_ttl))
    error_message = "claim_ttl must be a duration longer than zero, such as 600s."
  }
}

variable "max_attempts" {
  description = "OPLEDGER_MAX_ATTEMPTS: after so many an effect is DEAD."
  type        = number
  default     = null

  validation {
    condition     = var.max_attempts == null || try(var.max_attempts >= 1 && floor(var.max_attempts) == var.max_attempts, false)
    error_message = "max_attempts must be a whole number, at least 1."
  }
}

variable "retry_for" {
  description = "OPLEDGER_RETRY_FOR: an effect is DEAD only after it has been failing for so long, too; 0s lets max_attempts alone decide."
  type        = string
  default     = null

  validation {
    condition     = var.retry_for == null || can(regex("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", var.retry_for))
    error_message = "retry_for must be a duration such as 24h, or 0s."
  }
}

variable "results_kept" {
  description = "OPLEDGER_RESULTS_KEPT: how long Gemini keeps a batch's result after its end; by its guide six weeks, 1008h."
  type        = string
  default     = null

  validation {
    condition     = var.results_kept == null || can(regex("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", var.results_kept)) && can(regex("[1-9]", var.results_kept))
    error_message = "results_kept must be a duration longer than zero, such as 1008h."
  }
}

variable "max_batches" {
  description = "OPLEDGER_MAX_BATCHES: how many batches of jobs run at once, of all jobs together; with those of others that a pass has listed at most 100."
  type        = number
  default     = null

  validation {
    condition     = var.max_batches == null || try(var.max_batches >= 1 && var.max_batches <= 100 && floor(var.max_batches) == var.max_batches, false)
    error_message = "max_batches must be a whole number from 1 to 100."
  }
}

variable "enqueued_tokens" {
  description = "OPLEDGER_ENQUEUED_TOKENS: Gemini's quotas of enqueued tokens by model, such as gemini-3.5-flash=3000000, separated by spaces; null: none is known."
  type        = string
  default     = null

  validation {
    condition     = var.enqueued_tokens == null || can(regex("^[^ =]+=[1-9][0-9]*( +[^ =]+=[1-9][0-9]*)*$", var.enqueued_tokens))
    error_message = "enqueued_tokens must be pairs such as gemini-3.5-flash=3000000, separated by spaces."
  }
}

variable "prices" {
  description = "OPLEDGER_PRICES: the prices of models at the Batch API, MODEL=INPUT/OUTPUT in dollars per million tokens, separated by spaces."
  type        = string
  default     = null

  validation {
    condition     = var.prices == null || can(regex("^[^ =]+=[0-9.]+/[0-9.]+( +[^ =]+=[0-9.]+/[0-9.]+)*$", var.prices))
    error_message = "prices must be pairs such as gemini-3.5-flash=1/6, separated by spaces."
  }
}

variable "restored_at" {
  description = "OPLEDGER_RESTORED_AT: when the ledger was last restored from a backup; fences go on from there. See playbooks/restored.md."
  type        = string
  default     = null

  validation {
    condition     = var.restored_at == null || can(formatdate("", var.restored_at))
    error_message = "restored_at must be a time such as 2026-11-21T14:00:00Z."
  }
}

variable "effects" {
  description = "OPLEDGER_EFFECTS: the effects and when each runs, in YAML or JSON, such as file(\"effects.yaml\") in a module or the text itself."
  type        = string
  default     = null

  validation {
    condition     = var.effects == null || can([for effect in yamldecode(var.effects) : effect.name])
    error_message = "effects must be a list in YAML or JSON of effects with a name; a deployed function cannot read @FILE."
  }
}

variable "terminal_transitions" {
  description = "OPLEDGER_TERMINAL_TRANSITIONS: allowed moves between terminal states, such as SUCCEEDED:FAILED, separated by spaces."
  type        = string
  default     = null

  validation {
    condition     = var.terminal_transitions == null || can(regex("^[A-Z]+:[A-Z]+( +[A-Z]+:[A-Z]+)*$", var.terminal_transitions))
    error_message = "terminal_transitions must be pairs such as SUCCEEDED:FAILED, separated by spaces."
  }
}

variable "tolerance" {
  description = "OPLEDGER_TOLERANCE: how far a delivery's timestamp may be off."
  type        = string
  default     = null

  validation {
    condition     = var.tolerance == null || can(regex("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", var.tolerance)) && can(regex("[1-9]", var.tolerance))
    error_message = "tolerance must be a duration longer than zero, such as 5m."
  }
}

variable "webhook_timeout" {
  description = "OPLEDGER_WEBHOOK_TIMEOUT: a delivery is answered within this time, whatever the store does."
  type        = string
  default     = null

  validation {
    condition     = var.webhook_timeout == null || can(regex("^([1-9]|[1-5][0-9])s$", var.webhook_timeout))
    error_message = "webhook_timeout must be whole seconds from 1s to 59s: the function itself has 60."
  }
}

variable "webhook_audience" {
  description = "OPLEDGER_WEBHOOK_AUDIENCE: audiences of the tokens of dynamic webhooks, separated by spaces. Without one they are refused."
  type        = string
  default     = null
}

variable "webhook_issuer" {
  description = "OPLEDGER_WEBHOOK_ISSUER: issuers of the tokens of dynamic webhooks, separated by spaces."
  type        = string
  default     = null
}

variable "jwks_url" {
  description = "OPLEDGER_JWKS_URL: where the keys for the tokens of dynamic webhooks are."
  type        = string
  default     = null

  validation {
    condition     = var.jwks_url == null || can(regex("^https://[^/]+", var.jwks_url))
    error_message = "jwks_url must be an https URL."
  }
}

variable "confirm" {
  description = "OPLEDGER_CONFIRM: which deliveries count as unverified, to be confirmed at Gemini: never, dynamic or always."
  type        = string
  default     = null

  validation {
    condition     = var.confirm == null || contains(["never", "dynamic", "always"], coalesce(var.confirm, "-"))
    error_message = "confirm must be never, dynamic or always."
  }
}

variable "webhook" {
  description = "OPLEDGER_WEBHOOK: which webhook there is to be at Gemini: static (made once, with opledger webhook create), dynamic (named in each request), or none. Only a static one is checked, with an alert if it is gone."
  type        = string
  default     = null

  validation {
    condition     = var.webhook == null || contains(["static", "dynamic", "none"], coalesce(var.webhook, "-"))
    error_message = "webhook must be static, dynamic or none."
  }
}

variable "webhook_url" {
  description = "OPLEDGER_WEBHOOK_URL: the address that the Gemini webhook was created with, if not the function's own: a gateway in front of it."
  type        = string
  default     = null

  validation {
    condition     = var.webhook_url == null || can(regex("^https://[^/]+", var.webhook_url))
    error_message = "webhook_url must be an https URL."
  }
}

variable "webhook_reenable" {
  description = "OPLEDGER_WEBHOOK_REENABLE: enable the webhook again where Gemini disabled it after failed deliveries."
  type        = bool
  default     = null
}

variable "adopt" {
  description = "OPLEDGER_ADOPT: register batches that discovery finds and no submitter registered."
  type        = bool
  default     = null
}

variable "gemini_base_url" {
  description = "GOOGLE_GEMINI_BASE_URL: the https URL of Gemini's API."
  type        = string
  default     = null

  validation {
    condition     = var.gemini_base_url == null || can(regex("^https://[^/]+", var.gemini_base_url))
    error_message = "gemini_base_url must be an https URL: the API key is sent to it."
  }
}

variable "effect_allow_private" {
  description = "OPLEDGER_EFFECT_ALLOW_PRIVATE: may the http effect reach private and loopback addresses."
  type        = bool
  default     = null
}

variable "effects_paused" {
  description = "OPLEDGER_EFFECTS_PAUSED: plan effects, run none; they run when it is removed."
  type        = bool
  default     = null
}

variable "sign_effects" {
  description = "Sign what the http effect sends, with a secret of its own (OPLEDGER_EFFECT_SECRET). Add a version to the secret first."
  type        = bool
  default     = false
}
