import { Command, InvalidArgumentError, Option } from 'commander'
import type { Gateway } from '../gateway/gateway.ts'
import { type ApiKey, createKey, deleteKey, listOrganizationKeys, type NewKey } from '../identity/keys.ts'
import { isPermission, keyPermissions, type Permission } from '../identity/permissions/permissions.ts'
import { findFirstWorkspaceId, requireDefaultWorkspace, requireWorkspace } from '../identity/workspaces.ts'
import type { Db } from '../platform/db/db.ts'
import { decodeList } from '../platform/db/values.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  parseAmount,
  parseList,
  parseName,
  parseTime,
  resolveOrganization,
  transactAsCommand,
  UsageError,
} from './command.ts'
import { importKeysCommand } from './import/keys.ts'

interface KeyOptions extends OrgOption {
  name: string
  management?: boolean
  workspace?: string
  limit?: bigint
  limitReset?: 'daily' | 'weekly' | 'monthly'
  expiresAt?: string
  permissions?: Permission[]
  workspaces?: string[]
}

export function keysCommand(run: CommandRunner): Command {
  const keys = new Command('keys').description('create, list, revoke and import API keys')
  keys
    .command('create')
    .description('create a key and print it (it is shown only once)')
    .requiredOption('--name <name>', 'name of the key', parseName)
    .option('--management', 'create a management key instead of an inference key')
    .option('--workspace <id or slug>', 'workspace of the key (default: the default workspace)')
    .option('--permissions <names>', 'what a management key may do (default: everything)', parsePermissions)
    .option(
      '--workspaces <ids or slugs>',
      'where a management key may do it (default: everywhere)',
      parseList,
    )
    .option('--limit <usd>', 'spending limit in USD', parseAmount)
    .addOption(limitResetOption)
    .option('--expires-at <time>', 'expiry in UTC with seconds, such as 2027-01-31T23:59:59Z', parseTime)
    .option(...orgFlag)
    .action((options: KeyOptions) => run((gateway) => runCreate(gateway, options)))
  keys
    .command('list')
    .description('list all keys of an organization, including management keys')
    .option(...orgFlag)
    .action((options: OrgOption) => run((gateway) => runList(gateway, options)))
  keys
    .command('revoke')
    .description('revoke a key permanently')
    .argument('<hash>', 'hash of the key, or a prefix of at least 8 characters', parseHash)
    .option(...orgFlag)
    .action((hash: string, options: OrgOption) => run((gateway) => runRevoke(gateway, hash, options)))
  keys.addCommand(importKeysCommand(run))
  return keys
}

/** A hash, or the beginning of one. */
export function parseHash(text: string): string {
  if (/^[0-9a-f]{8,64}$/i.test(text)) return text
  throw new InvalidArgumentError('The hash must be 8 to 64 hexadecimal digits.')
}

const limitResetOption = new Option(
  '--limit-reset <interval>',
  'interval after which the limit resets (default: never)',
).choices(['daily', 'weekly', 'monthly'])

function parsePermissions(text: string): Permission[] {
  return parseList(text).map((name) => {
    if (isPermission(name) && keyPermissions.management.has(name)) return name
    throw new InvalidArgumentError(
      `"${name}" is not a permission of management keys. See docs/permissions.md.`,
    )
  })
}

async function runCreate(gateway: Gateway, options: KeyOptions): Promise<CommandResult> {
  if (!options.management && (options.permissions || options.workspaces))
    throw new UsageError('--permissions and --workspaces are for management keys: add --management.')
  const { db, clock } = gateway
  const organization = await resolveOrganization(gateway, options.org)
  const input: NewKey = {
    organizationId: organization.id,
    workspaceId: await resolveWorkspaceId(db, organization.id, options),
    kind: options.management ? 'management' : 'inference',
    name: options.name,
    limit: options.limit ?? null,
    limitReset: options.limitReset ?? null,
    expiresAt: options.expiresAt ?? null,
    permissions: options.permissions ?? null,
    workspaceIds: await resolveWorkspaceIds(db, organization.id, options.workspaces),
  }
  const { key, secret } = await transactAsCommand(gateway, organization.id, async (tx, record) => {
    const created = await createKey(tx, clock, input)
    const described = describeKey(created.key)
    record({ action: `${described.target.type}.create`, ...described, after: created.key })
    return created
  })
  return {
    value: { key: secret, hash: key.hash, kind: key.kind },
    text: `${secret}\nThis key is shown only once. Hash: ${key.hash}`,
  }
}

/** A management key acts in all workspaces, so it does not need a default workspace. */
async function resolveWorkspaceId(db: Db, organizationId: string, options: KeyOptions): Promise<string> {
  if (options.workspace) return (await requireWorkspace(db, organizationId, options.workspace)).id
  if (options.management) return findFirstWorkspaceId(db, organizationId)
  return (await requireDefaultWorkspace(db, organizationId)).id
}

async function resolveWorkspaceIds(
  db: Db,
  organizationId: string,
  refs: string[] | undefined,
): Promise<string[] | null> {
  if (!refs) return null
  return Promise.all(refs.map(async (ref) => (await requireWorkspace(db, organizationId, ref)).id))
}

/** Describes a key for the audit log. */
function describeKey({ hash, kind, name, workspace_id }: ApiKey) {
  if (kind === 'management') return { target: { type: 'management_key', id: hash, name } }
  return { target: { type: 'key', id: hash, name }, workspaceId: workspace_id }
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
    permissions: decodeList<string>(key.permissions),
    workspace_ids: decodeList<string>(key.workspace_ids),
  }))
  const lines = rows.map((row) =>
    [row.hash.slice(0, 12), row.kind.padEnd(10), row.label, row.name, row.disabled ? '(disabled)' : ''].join(
      '  ',
    ),
  )
  return { value: rows, text: lines.join('\n') || 'No keys.' }
}

async function runRevoke(gateway: Gateway, hash: string, options: OrgOption): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const key = await requireKeyByPrefix(gateway.db, organization.id, hash)
  await transactAsCommand(gateway, organization.id, async (tx, record) => {
    await deleteKey(tx, gateway.clock, key)
    const described = describeKey(key)
    record({ action: `${described.target.type}.delete`, ...described, before: key })
  })
  return { value: { revoked: key.hash }, text: `Revoked ${key.label} (${key.name}).` }
}

/** Finds a key by its hash, or by a prefix that no other key has. */
export async function requireKeyByPrefix(db: Db, organizationId: string, hash: string): Promise<ApiKey> {
  const keys = await listOrganizationKeys(db, organizationId)
  const [key, another] = keys.filter((candidate) => candidate.hash.startsWith(hash.toLowerCase()))
  if (!key) throw new UsageError('The key does not exist. Run "keys list" to see the hashes.')
  if (another) throw new UsageError('Several keys have this prefix. Use more digits of the hash.')
  return key
}
