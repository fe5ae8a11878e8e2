import { Command, Option } from 'commander'
import { createKey, deleteKey, listOrganizationKeys } from '../account/keys.ts'
import { defaultWorkspace, firstWorkspaceId, requireWorkspace } from '../account/workspaces.ts'
import type { Db } from '../db/db.ts'
import type { Gateway } from '../gateway.ts'
import {
  amountArgument,
  nameArgument,
  type OrgOption,
  organizationOf,
  orgFlag,
  type Result,
  type Run,
  timeArgument,
  UsageError,
} from './command.ts'

interface KeyOptions extends OrgOption {
  name: string
  management?: boolean
  workspace?: string
  limit?: bigint
  limitReset?: 'daily' | 'weekly' | 'monthly'
  expiresAt?: string
}

export function keysCommand(run: Run): Command {
  const keys = new Command('keys').description('make, list and revoke API keys')
  keys
    .command('create')
    .description('create a key and print its secret, once')
    .requiredOption('--name <name>', 'what it is for', nameArgument)
    .option('--management', 'a management key instead of an inference key')
    .option('--workspace <id or slug>', 'default: the default workspace')
    .option('--limit <usd>', 'spending limit in USD', amountArgument)
    .addOption(limitReset)
    .option('--expires-at <time>', 'UTC with seconds, such as 2027-01-31T23:59:59Z', timeArgument)
    .option(...orgFlag)
    .action((options: KeyOptions) => run((gateway) => create(gateway, options)))
  keys
    .command('list')
    .description('list all keys of an organization, management keys too')
    .option(...orgFlag)
    .action((options: OrgOption) => run((gateway) => list(gateway, options)))
  keys
    .command('revoke')
    .description('delete a key for good, by its hash (or at least 8 characters of its beginning)')
    .argument('<hash>')
    .option(...orgFlag)
    .action((hash: string, options: OrgOption) => run((gateway) => revoke(gateway, hash, options)))
  return keys
}

const limitReset = new Option('--limit-reset <interval>', 'when the limit starts again').choices([
  'daily',
  'weekly',
  'monthly',
])

async function create(gateway: Gateway, options: KeyOptions): Promise<Result> {
  const { db, clock } = gateway
  const organization = await organizationOf(gateway, options.org)
  const { key, secret } = await createKey(db, clock, {
    organizationId: organization.id,
    workspaceId: await workspaceIdOf(db, organization.id, options),
    kind: options.management ? 'management' : 'inference',
    name: options.name,
    limit: options.limit ?? null,
    limitReset: options.limitReset ?? null,
    expiresAt: options.expiresAt ?? null,
  })
  return {
    value: { key: secret, hash: key.hash, kind: key.kind },
    text: `${secret}\nShown this once. Hash: ${key.hash}`,
  }
}

/** A management key acts in all workspaces, so it needs no default one. */
async function workspaceIdOf(db: Db, organizationId: string, options: KeyOptions): Promise<string> {
  if (options.workspace) return (await requireWorkspace(db, organizationId, options.workspace)).id
  if (options.management) return firstWorkspaceId(db, organizationId)
  return (await defaultWorkspace(db, organizationId)).id
}

async function list(gateway: Gateway, options: OrgOption): Promise<Result> {
  const organization = await organizationOf(gateway, options.org)
  const found = await listOrganizationKeys(gateway.db, organization.id)
  const rows = found.map((key) => ({
    hash: key.hash,
    label: key.label,
    kind: key.kind,
    name: key.name,
    disabled: key.disabled === 1 || key.suspended === 1,
    expires_at: key.expires_at,
  }))
  const lines = rows.map((row) =>
    [row.hash.slice(0, 12), row.kind.padEnd(10), row.label, row.name, row.disabled ? '(disabled)' : ''].join(
      '  ',
    ),
  )
  return { value: rows, text: lines.join('\n') || 'No keys.' }
}

async function revoke(gateway: Gateway, hash: string, options: OrgOption): Promise<Result> {
  if (!/^[0-9a-f]{8,64}$/i.test(hash)) {
    throw new UsageError('Give at least the first 8 characters of the hash.')
  }
  const organization = await organizationOf(gateway, options.org)
  const found = await listOrganizationKeys(gateway.db, organization.id)
  const [key, another] = found.filter((candidate) => candidate.hash.startsWith(hash.toLowerCase()))
  if (!key) throw new UsageError('There is no such key.')
  if (another) throw new UsageError('Several keys begin with that hash.')
  await deleteKey(gateway.db, key.id)
  return { value: { revoked: key.hash }, text: `Revoked ${key.label} (${key.name}).` }
}
