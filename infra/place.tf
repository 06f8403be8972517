# Where the deployment is, and under which names, as its first apply said. Secrets cannot move, nor can a database: another region or
# prefix would replace the secrets with empty ones, and the ledger with an empty database.
resource "terraform_data" "place" {
  input = { region = var.region, name_prefix = var.name_prefix }

  lifecycle {
    ignore_changes = [input] # so that the first apply's values stay

    postcondition {
      condition     = self.output == { region = var.region, name_prefix = var.name_prefix }
      error_message = "This deployment is in ${self.output.region}, with the prefix ${self.output.name_prefix}: set region and name_prefix back to these. With ${var.region} and ${var.name_prefix} Terraform would replace its secrets and its ledger with empty ones. How to move: infra/moving/README.md"
    }
  }
}
