import { ConfigError } from '../config.ts'
import { type Db, isUniqueViolation } from '../db/db.ts'
import { postFunding } from '../ledger/entries.ts'
import { type Clock, isoNow } from '../lib/clock.ts'
import { sha256, type Vault } from '../lib/crypto.ts'
import { newId } from '../lib/ids.ts'
import { createKey, findKeyBySecret } from './keys.ts'
import {
  type CreatedOrganization,
  createOrganization,
  findOperatorOrganization,
  lockOrganization,
} from './organizations.ts'
import { createSigninToken } from './sessions.ts'
import { findFirstWorkspaceId } from './workspaces.ts'

export interface BootstrapResult extends CreatedOrganization {
  /** Null if the operator set one in the environment. */
  managementKey: string | null
  inferenceKey: string
  signinToken: string
}

interface BootstrapOptions {
  managementKey: string | null
  initialCredits: bigint
}

/** Creates the first organization and its keys; undefined if they exist. Safe if several nodes start at once. */
export async function bootstrapOrganization(
  db: Db,
  clock: Clock,
  options: BootstrapOptions,
): Promise<BootstrapResult | undefined> {
  if (await findOperatorOrganization(db)) return undefined
  try {
    return await db.transaction().execute((tx) => createFirstOrganization(tx, clock, options))
  } catch (error) {
    // Another node was first: its row in `instance` wins.
    if (isUniqueViolation(error)) return undefined
    throw error
  }
}

async function createFirstOrganization(
  tx: Db,
  clock: Clock,
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
  const common = {
    organizationId: created.organization.id,
    workspaceId: created.workspace.id,
    creatorUserId: created.owner.id,
  }
  const management = options.managementKey
    ? null
    : await createKey(tx, clock, { ...common, kind: 'management', name: 'First management key' })
  const inference = await createKey(tx, clock, { ...common, kind: 'inference', name: 'First key' })
  if (options.initialCredits > 0n) {
    await postFunding(tx, {
      organizationId: created.organization.id,
      kind: 'grant',
      amount: options.initialCredits,
      note: 'Initial credits',
      transactionId: newId('txn'),
      at: isoNow(clock),
    })
  }
  const signinToken = await createSigninToken(tx, clock, created.owner.id)
  return {
    ...created,
    managementKey: management?.secret ?? null,
    inferenceKey: inference.secret,
    signinToken,
  }
}

/** Makes HEADGATE_MANAGEMENT_KEY a key of the first organization and revokes its previous value. */
export async function syncEnvironmentKey(db: Db, clock: Clock, secret: string | null): Promise<void> {
  const organization = await findOperatorOrganization(db)
  if (!organization) return
  const hash = secret === null ? '' : sha256(secret)
  await db.transaction().execute(async (tx) => {
    // Serializes nodes that start together.
    await lockOrganization(tx, organization.id)
    await tx.deleteFrom('api_keys').where('source', '=', 'environment').where('hash', '!=', hash).execute()
    if (secret === null) return
    const known = await findKeyBySecret(tx, secret)
    if (known?.kind === 'management' && known.organization_id === organization.id) return
    if (known)
      throw new ConfigError(
        'HEADGATE_MANAGEMENT_KEY is already used by another key; choose a different value.',
      )
    await createKey(tx, clock, {
      organizationId: organization.id,
      workspaceId: await findFirstWorkspaceId(tx, organization.id),
      kind: 'management',
      name: 'HEADGATE_MANAGEMENT_KEY',
      secret,
      source: 'environment',
    })
  })
}

const sealContext = 'instance/seal_check'

/** Whether the vault opens what this database was sealed with; a new database is marked with the vault. */
export async function hasMatchingVaultKey(db: Db, vault: Vault): Promise<boolean> {
  await db
    .insertInto('instance')
    .values({ name: 'seal_check', value: vault.seal('headgate', sealContext) })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const row = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', 'seal_check')
    .executeTakeFirstOrThrow()
  try {
    return vault.open(row.value, sealContext) === 'headgate'
  } catch {
    return false
  }
}
