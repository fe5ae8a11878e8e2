import { ConfigError } from '../config.ts'
import type { AuditOrigin } from '../governance/audit/entry.ts'
import { type AuditDeps, type RecordEvent, transactAs } from '../governance/audit/transaction.ts'
import { type ApiKey, createKey, findKeyBySecret } from '../identity/keys.ts'
import { displayNameOf } from '../identity/members.ts'
import {
  type CreatedOrganization,
  createOrganization,
  findOperatorOrganization,
  lockOrganization,
} from '../identity/organizations.ts'
import { createSignInToken } from '../identity/sessions.ts'
import { findFirstWorkspaceId } from '../identity/workspaces.ts'
import { postFunding } from '../ledger/entries.ts'
import { sha256, type Vault } from '../platform/crypto/crypto.ts'
import { newId } from '../platform/crypto/ids.ts'
import { type Db, isUniqueViolation } from '../platform/db/db.ts'
import { usdFromNanos } from '../platform/money/money.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

export interface BootstrapResult extends CreatedOrganization {
  /** Null if the operator set one in the environment. */
  managementKey: string | null
  inferenceKey: string
  signInToken: string
}

interface BootstrapOptions {
  managementKey: string | null
  initialCredits: bigint
}

/** Creates the first organization and its keys; undefined if they exist. Safe if several nodes start at once. */
export async function bootstrapOrganization(
  deps: AuditDeps,
  options: BootstrapOptions,
): Promise<BootstrapResult | undefined> {
  if (await findOperatorOrganization(deps.db)) return undefined
  try {
    return await transactAs(deps, origin, (tx, record) =>
      createFirstOrganization(tx, deps.clock, record, options),
    )
  } catch (error) {
    // Another node was first: its row in `instance` wins.
    if (isUniqueViolation(error)) return undefined
    throw error
  }
}

/** The start of the server. */
const origin: AuditOrigin = {
  organizationId: null,
  actor: { type: 'job', id: null, name: 'server' },
  ip: null,
  userAgent: null,
  requestId: null,
}

async function createFirstOrganization(
  tx: Db,
  clock: Clock,
  record: RecordEvent,
  options: BootstrapOptions,
): Promise<BootstrapResult> {
  await tx
    .insertInto('instance')
    .values({ name: 'first_start', value: isoNow(clock) })
    .execute()
  const created = await createOrganization(tx, clock, {
    name: 'My organization',
    ownerEmail: 'owner@localhost',
    isOperator: 1,
  })
  const { organization, workspace, owner } = created
  const { id: organizationId, name } = organization
  record({
    action: 'organization.create',
    target: { type: 'organization', id: organizationId, name },
    organizationId,
    after: organization,
    details: { owner_id: owner.id },
  })
  const common = { organizationId, workspaceId: workspace.id, creatorUserId: owner.id }
  const management = options.managementKey
    ? null
    : await createKey(tx, clock, { ...common, kind: 'management', name: 'First management key' })
  if (management) recordKey(record, 'create', management.key)
  const inference = await createKey(tx, clock, { ...common, kind: 'inference', name: 'First key' })
  recordKey(record, 'create', inference.key)
  if (options.initialCredits > 0n)
    await grantCredits(tx, clock, record, organizationId, options.initialCredits)
  const signInToken = await createSignInToken(tx, clock, owner.id)
  const target = { type: 'member', id: owner.id, name: displayNameOf(owner) }
  record({ action: 'signin_link.create', target, organizationId })
  return {
    ...created,
    managementKey: management?.secret ?? null,
    inferenceKey: inference.secret,
    signInToken,
  }
}

async function grantCredits(
  tx: Db,
  clock: Clock,
  record: RecordEvent,
  organizationId: string,
  amount: bigint,
): Promise<void> {
  const transactionId = newId('txn')
  const note = 'Initial credits'
  const at = isoNow(clock)
  await postFunding(tx, { organizationId, kind: 'grant', amount, note, transactionId, at })
  record({
    action: 'credits.grant',
    target: { type: 'credits', id: transactionId },
    organizationId,
    details: { amount_usd: usdFromNanos(amount), note },
  })
}

function recordKey(record: RecordEvent, verb: 'create' | 'delete', key: ApiKey): void {
  const { hash: id, name, kind, organization_id: organizationId } = key
  const isManagement = kind === 'management'
  const type = isManagement ? 'management_key' : 'key'
  record({
    action: `${type}.${verb}`,
    target: { type, id, name },
    organizationId,
    workspaceId: isManagement ? null : key.workspace_id,
    [verb === 'create' ? 'after' : 'before']: key,
  })
}

/** Makes HEADGATE_MANAGEMENT_KEY a key of the first organization and revokes its previous value. */
export async function syncEnvironmentKey(deps: AuditDeps, secret: string | null): Promise<void> {
  const organization = await findOperatorOrganization(deps.db)
  if (!organization) return
  const hash = secret === null ? '' : sha256(secret)
  await transactAs(deps, origin, async (tx, record) => {
    // Serializes nodes that start together.
    await lockOrganization(tx, organization.id)
    const previous = tx.deleteFrom('api_keys').where('source', '=', 'environment').where('hash', '!=', hash)
    for (const key of await previous.returningAll().execute()) recordKey(record, 'delete', key)
    if (secret === null) return
    const known = await findKeyBySecret(tx, secret)
    if (known?.kind === 'management' && known.organization_id === organization.id) return
    if (known)
      throw new ConfigError(
        'HEADGATE_MANAGEMENT_KEY is already used by another key; choose a different value.',
      )
    const { key } = await createKey(tx, deps.clock, {
      organizationId: organization.id,
      workspaceId: await findFirstWorkspaceId(tx, organization.id),
      kind: 'management',
      name: 'HEADGATE_MANAGEMENT_KEY',
      secret,
      source: 'environment',
    })
    recordKey(record, 'create', key)
  })
}

const encryptionContext = 'instance/seal_check'

/** A text that only this key decrypts. */
export function encryptKeyCheck(vault: Vault): string {
  return vault.encrypt('headgate', encryptionContext)
}

export function isKeyCheckOf(vault: Vault, value: string): boolean {
  try {
    return vault.decrypt(value, encryptionContext) === 'headgate'
  } catch {
    return false
  }
}

/** Whether the vault opens what this database was encrypted with; a new database is marked with the vault. */
export async function hasMatchingVaultKey(db: Db, vault: Vault): Promise<boolean> {
  await db
    .insertInto('instance')
    .values({ name: 'seal_check', value: encryptKeyCheck(vault) })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  return (await compareVaultKey(db, vault)) === true
}

/** Whether the vault opens what this database was encrypted with; null if nothing marks it. Changes nothing. */
export async function compareVaultKey(db: Db, vault: Vault): Promise<boolean | null> {
  const row = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', 'seal_check')
    .executeTakeFirst()
  return row === undefined ? null : isKeyCheckOf(vault, row.value)
}
