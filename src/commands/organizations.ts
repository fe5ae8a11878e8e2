import { Command, Option } from 'commander'
import { createKey } from '../account/keys.ts'
import { createOrganization, listOrganizations, lockOrganization } from '../account/organizations.ts'
import type { Gateway } from '../gateway.ts'
import { creditTotals, postFunding } from '../ledger/entries.ts'
import { usdFromNanos } from '../ledger/money.ts'
import { isoNow } from '../lib/clock.ts'
import { newId } from '../lib/ids.ts'
import {
  amountArgument,
  emailArgument,
  nameArgument,
  type OrgOption,
  organizationOf,
  orgFlag,
  type Result,
  type Run,
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

export function organizationsCommand(run: Run): Command {
  const orgs = new Command('orgs').description(
    'organizations: tenants with their own keys, members and credits',
  )
  orgs
    .command('create')
    .description('create an organization with a default workspace, an owner and a management key')
    .requiredOption('--name <name>', 'what it is called', nameArgument)
    .requiredOption('--owner-email <email>', 'its first admin', emailArgument)
    .action((options: NewOrganization) => run((gateway) => create(gateway, options)))
  orgs
    .command('list')
    .description('list organizations')
    .action(() => run(list))
  return orgs
}

export function creditsCommand(run: Run): Command {
  const credits = new Command('credits').description('credits of an organization')
  credits
    .command('grant')
    .description('add credits')
    .argument('<usd>', 'amount in USD', amountArgument)
    .option(...orgFlag)
    .addOption(new Option('--kind <kind>').choices(['grant', 'purchase']).default('grant'))
    .option('--note <text>')
    .action((amount: bigint, options: GrantOptions) => run((gateway) => grant(gateway, amount, options)))
  return credits
}

async function create(gateway: Gateway, options: NewOrganization): Promise<Result> {
  const { clock } = gateway
  const made = await gateway.db.transaction().execute(async (tx) => {
    const start = await createOrganization(tx, clock, options)
    const { secret } = await createKey(tx, clock, {
      organizationId: start.organization.id,
      workspaceId: start.workspace.id,
      creatorUserId: start.owner.id,
      kind: 'management',
      name: 'First management key',
    })
    return { organization_id: start.organization.id, owner_id: start.owner.id, management_key: secret }
  })
  return {
    value: made,
    text: `Organization ${made.organization_id}\nManagement key (shown this once): ${made.management_key}`,
  }
}

async function list(gateway: Gateway): Promise<Result> {
  const found = await listOrganizations(gateway.db)
  const lines = found.map((org) => `${org.id}  ${org.name}${org.is_operator ? '  (operator)' : ''}`)
  return { value: found, text: lines.join('\n') || 'No organizations.' }
}

async function grant(gateway: Gateway, amount: bigint, options: GrantOptions): Promise<Result> {
  const organization = await organizationOf(gateway, options.org)
  if (amount === 0n) throw new UsageError('The amount must be more than zero.')
  await gateway.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, organization.id)
    await postFunding(tx, {
      organizationId: organization.id,
      kind: options.kind,
      amount,
      note: options.note ?? null,
      transactionId: newId('txn'),
      at: isoNow(gateway.clock),
    })
  })
  const { total } = await creditTotals(gateway.db, organization.id)
  const value = { organization_id: organization.id, total_credits: usdFromNanos(total) }
  return { value, text: `${organization.name} now has ${value.total_credits} USD of credits in all.` }
}
