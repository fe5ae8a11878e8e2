import { Command, Option } from 'commander'
import type { Gateway } from '../gateway/gateway.ts'
import { applyToOrganization } from '../governance/limits/apply-settings.ts'
import { createKey } from '../identity/keys.ts'
import { createOrganization, listOrganizations, lockOrganization } from '../identity/organizations.ts'
import { loadCreditTotals, postFunding } from '../ledger/entries.ts'
import { newId } from '../platform/crypto/ids.ts'
import { usdFromNanos } from '../platform/money/money.ts'
import { isoNow } from '../platform/time/clock.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  parseAmount,
  parseEmail,
  parseName,
  resolveOrganization,
  transactAsCommand,
  UsageError,
} from './command.ts'

interface NewOrganization {
  name: string
  ownerEmail: string
}

interface GrantOptions extends OrgOption {
  kind: 'grant' | 'purchase'
  note?: string
}

export function organizationsCommand(run: CommandRunner): Command {
  const orgs = new Command('orgs').description(
    'manage organizations: tenants with separate keys, members and credits',
  )
  orgs
    .command('create')
    .description('create an organization with a default workspace, an owner and a management key')
    .requiredOption('--name <name>', 'name of the organization', parseName)
    .requiredOption('--owner-email <email>', 'email of its first admin', parseEmail)
    .action((options: NewOrganization) => run((gateway) => runCreate(gateway, options)))
  orgs
    .command('list')
    .description('list organizations')
    .action(() => run(runList))
  return orgs
}

export function creditsCommand(run: CommandRunner): Command {
  const credits = new Command('credits').description('manage the credits of an organization')
  credits
    .command('grant')
    .description('add credits to an organization')
    .argument('<usd>', 'amount in USD', parseAmount)
    .option(...orgFlag)
    .addOption(
      new Option('--kind <kind>', 'granted credits, or purchased ones')
        .choices(['grant', 'purchase'])
        .default('grant'),
    )
    .option('--note <text>', 'note on the ledger entry')
    .action((amount: bigint, options: GrantOptions) => run((gateway) => runGrant(gateway, amount, options)))
  return credits
}

async function runCreate(gateway: Gateway, options: NewOrganization): Promise<CommandResult> {
  const { clock, settings } = gateway
  const created = await transactAsCommand(gateway, null, async (tx, record) => {
    const start = await createOrganization(tx, clock, options)
    const { secret, key } = await createKey(tx, clock, {
      organizationId: start.organization.id,
      workspaceId: start.workspace.id,
      creatorUserId: start.owner.id,
      kind: 'management',
      name: 'First management key',
    })
    const { id, name } = start.organization
    const target = { type: 'organization', id, name }
    const details = { owner_id: start.owner.id, owner_email: options.ownerEmail }
    record({ action: 'organization.create', target, organizationId: id, after: start.organization, details })
    const keyTarget = { type: 'management_key', id: key.hash, name: key.name }
    record({ action: 'management_key.create', target: keyTarget, organizationId: id, after: key })
    await applyToOrganization({ tx, clock, record, organizationId: id }, settings)
    return { organization_id: start.organization.id, owner_id: start.owner.id, management_key: secret }
  })
  return {
    value: created,
    text: `Organization ${created.organization_id}\nManagement key (shown only once): ${created.management_key}`,
  }
}

async function runList(gateway: Gateway): Promise<CommandResult> {
  const organizations = await listOrganizations(gateway.db)
  const lines = organizations.map((org) => `${org.id}  ${org.name}${org.is_operator ? '  (operator)' : ''}`)
  return { value: organizations, text: lines.join('\n') || 'No organizations.' }
}

async function runGrant(gateway: Gateway, amount: bigint, options: GrantOptions): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  if (amount === 0n) throw new UsageError('The amount must be greater than zero.')
  const transactionId = newId('txn')
  await transactAsCommand(gateway, organization.id, async (tx, record) => {
    await lockOrganization(tx, organization.id)
    await postFunding(tx, {
      organizationId: organization.id,
      kind: options.kind,
      amount,
      note: options.note ?? null,
      transactionId,
      at: isoNow(gateway.clock),
    })
    record({
      action: `credits.${options.kind}`,
      target: { type: 'credits', id: transactionId },
      details: { amount_usd: usdFromNanos(amount), note: options.note ?? null },
    })
  })
  const { total } = await loadCreditTotals(gateway.db, organization.id)
  const value = { organization_id: organization.id, total_credits: usdFromNanos(total) }
  return { value, text: `${organization.name} now has ${value.total_credits} USD of credits in total.` }
}
