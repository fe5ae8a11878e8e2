import { Command } from 'commander'
import { createTierRow, deleteTierRow } from '../api/spending/limits/tier-changes.ts'
import { createTierBody, toTierRecord } from '../api/spending/limits/tier-record.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { listTiers } from '../governance/limits/tier-store.ts'
import { validateInput } from '../platform/validation/validate-input.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  resolveOrganization,
  transactAsCommand,
} from './command.ts'

interface TierOptions extends OrgOption {
  name: string
  description?: string
  default?: boolean
}

/** More than an organization has, unless its operator allows it. */
const maxListed = 1000

export function tiersCommand(run: CommandRunner): Command {
  const tiers = new Command('tiers').description('manage tiers: sets of limits that keys refer to')
  tiers
    .command('create')
    .description('create a tier; give it limits with "limits create --tier"')
    .requiredOption('--name <name>', 'name of the tier: lower-case letters, digits, - and _')
    .option('--description <text>', 'description of the tier')
    .option('--default', 'the tier of new keys')
    .option(...orgFlag)
    .action((options: TierOptions) => run((gateway) => runCreate(gateway, options)))
  tiers
    .command('list')
    .description('list the tiers of an organization')
    .option(...orgFlag)
    .action((options: OrgOption) => run((gateway) => runList(gateway, options)))
  tiers
    .command('delete')
    .description('delete a tier with its limits; its keys have no tier afterwards')
    .argument('<name>')
    .option(...orgFlag)
    .action((name: string, options: OrgOption) => run((gateway) => runDelete(gateway, name, options)))
  return tiers
}

async function runCreate(gateway: Gateway, options: TierOptions): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const fields = { name: options.name, description: options.description, is_default: options.default }
  const body = validateInput(createTierBody, fields, 'tier')
  const row = await transactAsCommand(gateway, organization.id, (tx, record) =>
    createTierRow({ gateway, tx, record }, organization.id, body),
  )
  return { value: toTierRecord(row), text: `Created the tier ${row.name}.` }
}

async function runList(gateway: Gateway, options: OrgOption): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const { rows } = await listTiers(gateway.db, organization.id, { offset: 0, limit: maxListed })
  const value = rows.map(toTierRecord)
  const lines = value.map(({ name, description, is_default }) =>
    [name, ...(description ? [description] : []), ...(is_default ? ['(default)'] : [])].join('  '),
  )
  return { value, text: lines.join('\n') || 'No tiers.' }
}

async function runDelete(gateway: Gateway, name: string, options: OrgOption): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  await transactAsCommand(gateway, organization.id, (tx, record) =>
    deleteTierRow({ tx, record }, organization.id, name),
  )
  return { value: { deleted: name }, text: `Deleted the tier ${name} and its limits.` }
}
