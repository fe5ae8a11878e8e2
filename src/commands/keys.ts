import { Command, Option } from 'commander'
import { createKey, deleteKey, listOrganizationKeys } from '../account/keys.ts'
import { findFirstWorkspaceId, requireDefaultWorkspace, requireWorkspace } from '../account/workspaces.ts'
import type { Gateway } from '../app/gateway.ts'
import type { Db } from '../db/db.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  parseAmount,
  parseName,
  parseTime,
  resolveOrganization,
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

export function keysCommand(run: CommandRunner): Command {
  const keys = new Command('keys').description('make, list and revoke API keys')
  keys
    .command('create')
    .description('create a key and print its secret, once')
    .requiredOption('--name <name>', 'what it is for', parseName)
    .option('--management', 'a management key instead of an inference key')
    .option('--workspace <id or slug>', 'default: the default workspace')
    .option('--limit <usd>', 'spending limit in USD', parseAmount)
    .addOption(limitResetOption)
    .option('--expires-at <time>', 'UTC with seconds, such as 2027-01-31T23:59:59Z', parseTime)
    .option(...orgFlag)
    .action((options: KeyOptions) => run((gateway) => runCreate(gateway, options)))
  keys
    .command('list')
    .description('list all keys of an organization, management keys too')
    .option(...orgFlag)
    .action((options: OrgOption) => run((gateway) => runList(gateway, options)))
  keys
    .command('revoke')
    .description('delete a key for good, by its hash (or at least 8 characters of its beginning)')
    .argument('<hash>')
    .option(...orgFlag)
    .action((hash: string, options: OrgOption) => run((gateway) => runRevoke(gateway, hash, options)))
  return keys
}

const limitResetOption = new Option('--limit-reset <interval>', 'when the limit starts again').choices([
  'daily',
  'weekly',
  'monthly',
])

async function runCreate(gateway: Gateway, options: KeyOptions): Promise<CommandResult> {
  const { db, clock } = gateway
  const organization = await resolveOrganization(gateway, options.org)
  const { key, secret } = await createKey(db, clock, {
    organizationId: organization.id,
    workspaceId: await resolveWorkspaceId(db, organization.id, options),
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
async function resolveWorkspaceId(db: Db, organizationId: string, options: KeyOptions): Promise<string> {
  if (options.workspace) return (await requireWorkspace(db, organizationId, options.workspace)).id
  if (options.management) return findFirstWorkspaceId(db, organizationId)
  return (await requireDefaultWorkspace(db, organizationId)).id
}

async function runList(gateway: Gateway, options: OrgOption): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const keys = await listOrganizationKeys(gateway.db, organization.id)
  const rows = keys.map((key) => ({
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

async function runRevoke(gateway: Gateway, hash: string, options: OrgOption): Promise<CommandResult> {
  if (!/^[0-9a-f]{8,64}$/i.test(hash)) {
    throw new UsageError('Give at least the first 8 characters of the hash.')
  }
  const organization = await resolveOrganization(gateway, options.org)
  const keys = await listOrganizationKeys(gateway.db, organization.id)
  const [key, another] = keys.filter((candidate) => candidate.hash.startsWith(hash.toLowerCase()))
  if (!key) throw new UsageError('There is no such key.')
  if (another) throw new UsageError('Several keys begin with that hash.')
  await deleteKey(gateway.db, key.id)
  return { value: { revoked: key.hash }, text: `Revoked ${key.label} (${key.name}).` }
}
