import { Command, InvalidArgumentError, Option } from 'commander'
import { createKey, deleteKey, listOrganizationKeys } from './account/keys.ts'
import { findMemberByEmail, firstAdmin } from './account/members.ts'
import {
  createOrganization,
  findOrganization,
  listOrganizations,
  lockOrganization,
  operatorOrganization,
} from './account/organizations.ts'
import { createSigninToken } from './account/sessions.ts'
import { defaultWorkspace, requireWorkspace } from './account/workspaces.ts'
import { ConfigError, readConfig } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Gateway } from './gateway.ts'
import { creditTotals, postFunding } from './ledger/entries.ts'
import { nanosFromUsd, usdFromNanos } from './ledger/money.ts'
import { isoNow } from './lib/clock.ts'
import { newId } from './lib/ids.ts'
import { isUtcTimestamp } from './lib/time.ts'
import { openGateway, serve } from './main.ts'
import { readSettings } from './settings.ts'
import { version } from './version.ts'
import { signinUrl, siteUrl } from './welcome.ts'

/** A mistake of the person at the terminal: one sentence, exit code 1. */
class UsageError extends Error {}

const program = new Command('headgate')
  .description('A self-hosted model gateway. Settings come from the environment and headgate.yaml.')
  .version(version)
  .option('--json', 'print results as JSON')
  .showHelpAfterError()

program
  .command('serve')
  .description('run the server (what npm start does)')
  .action(() => serve(readConfig()))

program
  .command('migrate')
  .description('bring the database up to date without serving')
  .action(() => withGateway(async () => print({ migrated: true }, 'The database is up to date.')))

program
  .command('signin')
  .description('print a one-time link that signs a member in with the browser')
  .option('--email <email>', 'which member; default: the first admin of the organization')
  .option('--org <id>', 'organization id; default: the one that runs this installation')
  .action((options: { email?: string; org?: string }) => withGateway((gateway) => signin(gateway, options)))

const config = program.command('config').description('look at the configuration')
config
  .command('check')
  .description('check the environment and headgate.yaml, and say what is wrong')
  .action(() => {
    const found = readConfig()
    const settings = readSettings(found)
    const facts = {
      file: found.settingsPath,
      providers: settings.providers.length,
      models: settings.models.length,
    }
    print(facts, `The configuration is valid (${found.settingsPath ?? 'no headgate.yaml'}).`)
  })

const keys = program.command('keys').description('make, list and revoke API keys')
keys
  .command('create')
  .description('create a key and print its secret, once')
  .requiredOption('--name <name>', 'what it is for')
  .option('--management', 'a management key instead of an inference key')
  .option('--workspace <id or slug>', 'default: the default workspace')
  .option('--limit <usd>', 'spending limit in USD', amountArgument)
  .addOption(
    new Option('--limit-reset <interval>', 'when the limit starts again').choices([
      'daily',
      'weekly',
      'monthly',
    ]),
  )
  .option('--expires-at <time>', 'UTC with seconds, such as 2027-01-31T23:59:59Z', timeArgument)
  .option('--org <id>', 'organization id; default: the one that runs this installation')
  .action((options: KeyOptions) => withGateway((gateway) => createKeyCommand(gateway, options)))
keys
  .command('list')
  .description('list all keys of an organization, management keys too')
  .option('--org <id>', 'organization id; default: the one that runs this installation')
  .action((options: { org?: string }) => withGateway((gateway) => listKeysCommand(gateway, options)))
keys
  .command('revoke')
  .description('delete a key for good, by its hash (or the beginning of it)')
  .argument('<hash>')
  .option('--org <id>', 'organization id; default: the one that runs this installation')
  .action((hash: string, options: { org?: string }) =>
    withGateway((gateway) => revoke(gateway, hash, options)),
  )

const orgs = program
  .command('orgs')
  .description('organizations: tenants with their own keys, members and credits')
orgs
  .command('create')
  .description('create an organization with a default workspace, an owner and a management key')
  .requiredOption('--name <name>')
  .requiredOption('--owner-email <email>')
  .action((options: { name: string; ownerEmail: string }) =>
    withGateway((gateway) => createOrganizationCommand(gateway, options)),
  )
orgs
  .command('list')
  .description('list organizations')
  .action(() =>
    withGateway(async (gateway) => {
      const found = await listOrganizations(gateway.db)
      print(
        found,
        found.map((org) => `${org.id}  ${org.name}${org.is_operator ? '  (operator)' : ''}`).join('\n'),
      )
    }),
  )

const credits = program.command('credits').description('credits of an organization')
credits
  .command('grant')
  .description('add credits')
  .argument('<usd>', 'amount in USD', amountArgument)
  .option('--org <id>', 'organization id; default: the one that runs this installation')
  .addOption(new Option('--kind <kind>').choices(['grant', 'purchase']).default('grant'))
  .option('--note <text>')
  .action((amount: bigint, options: GrantOptions) =>
    withGateway((gateway) => grant(gateway, amount, options)),
  )

interface KeyOptions {
  name: string
  management?: boolean
  workspace?: string
  limit?: bigint
  limitReset?: 'daily' | 'weekly' | 'monthly'
  expiresAt?: string
  org?: string
}

interface GrantOptions {
  org?: string
  kind: 'grant' | 'purchase'
  note?: string
}

async function signin(gateway: Gateway, options: { email?: string; org?: string }): Promise<void> {
  const organization = await organizationOf(gateway, options.org)
  const member = options.email
    ? await findMemberByEmail(gateway.db, organization.id, options.email)
    : await firstAdmin(gateway.db, organization.id)
  if (!member) throw new UsageError('There is no such member.')
  const token = await createSigninToken(gateway.db, gateway.clock, member.id)
  const url = signinUrl(siteUrl({ ...gateway, port: gateway.config.port }), token)
  print({ url, email: member.email }, `Sign in as ${member.email} (works once, within the hour):\n${url}`)
}

async function createKeyCommand(gateway: Gateway, options: KeyOptions): Promise<void> {
  const { db, clock } = gateway
  const organization = await organizationOf(gateway, options.org)
  const workspace = options.workspace
    ? await requireWorkspace(db, organization.id, options.workspace)
    : await defaultWorkspace(db, organization.id)
  const { key, secret } = await createKey(db, clock, {
    organizationId: organization.id,
    workspaceId: workspace.id,
    kind: options.management ? 'management' : 'inference',
    name: options.name,
    limit: options.limit ?? null,
    limitReset: options.limitReset ?? null,
    expiresAt: options.expiresAt ?? null,
  })
  print({ key: secret, hash: key.hash, kind: key.kind }, `${secret}\nShown this once. Hash: ${key.hash}`)
}

async function listKeysCommand(gateway: Gateway, options: { org?: string }): Promise<void> {
  const organization = await organizationOf(gateway, options.org)
  const found = await listOrganizationKeys(gateway.db, organization.id)
  const rows = found.map((key) => ({
    hash: key.hash,
    label: key.label,
    kind: key.kind,
    name: key.name,
    disabled: key.disabled === 1,
    expires_at: key.expires_at,
  }))
  const line = (row: (typeof rows)[number]) =>
    [row.hash.slice(0, 12), row.kind.padEnd(10), row.label, row.name, row.disabled ? '(disabled)' : ''].join(
      '  ',
    )
  print(rows, rows.map(line).join('\n') || 'No keys.')
}

async function revoke(gateway: Gateway, hash: string, options: { org?: string }): Promise<void> {
  const organization = await organizationOf(gateway, options.org)
  const found = await listOrganizationKeys(gateway.db, organization.id)
  const matching = found.filter((key) => key.hash.startsWith(hash.toLowerCase()))
  const [key] = matching
  if (!key || matching.length > 1) {
    throw new UsageError(matching.length > 1 ? 'Several keys begin with that hash.' : 'There is no such key.')
  }
  await deleteKey(gateway.db, key.id)
  print({ revoked: key.hash }, `Revoked ${key.label} (${key.name}).`)
}

async function createOrganizationCommand(
  gateway: Gateway,
  options: { name: string; ownerEmail: string },
): Promise<void> {
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
  print(
    made,
    `Organization ${made.organization_id}\nManagement key (shown this once): ${made.management_key}`,
  )
}

async function grant(gateway: Gateway, amount: bigint, options: GrantOptions): Promise<void> {
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
  const credited = { organization_id: organization.id, total_credits: usdFromNanos(total) }
  print(credited, `${organization.name} now has ${credited.total_credits} USD of credits in all.`)
}

async function organizationOf(gateway: Gateway, id: string | undefined) {
  const found = id ? await findOrganization(gateway.db, id) : await operatorOrganization(gateway.db)
  if (found) return found
  throw new UsageError(
    id ? `There is no organization ${id}.` : 'Nothing is set up yet: start the server once.',
  )
}

function amountArgument(text: string): bigint {
  const nanos = nanosFromUsd(text)
  if (nanos === undefined || nanos < 0n) throw new InvalidArgumentError('It must be an amount in USD.')
  return nanos
}

function timeArgument(text: string): string {
  if (isUtcTimestamp(text)) return text
  throw new InvalidArgumentError('It must be a UTC time with seconds.')
}

/** Opens the database beside a running server, which is safe: only serving needs the data directory alone. */
async function withGateway(work: (gateway: Gateway) => Promise<void>): Promise<void> {
  const gateway = await openGateway(readConfig())
  try {
    await work(gateway)
  } finally {
    await gateway.db.destroy()
  }
}

function print(value: unknown, text: string): void {
  process.stdout.write(`${program.opts<{ json?: boolean }>().json ? JSON.stringify(value) : text}\n`)
}

try {
  await program.parseAsync(process.argv)
} catch (error) {
  const expected =
    error instanceof ConfigError || error instanceof GatewayError || error instanceof UsageError
  process.stderr.write(`headgate: ${expected ? error.message : Bun.inspect(error)}\n`)
  process.exitCode = 1
}
