import { ConfigError } from '../config.ts'
import { type Db, isUniqueViolation } from '../db/db.ts'
import { postFunding } from '../ledger/entries.ts'
import { type Clock, isoNow } from '../lib/clock.ts'
import { newId } from '../lib/ids.ts'
import { sha256, type Vault } from '../lib/secret.ts'
import { createKey, findKeyBySecret } from './keys.ts'
import {
  createOrganization,
  lockOrganization,
  type OrganizationStart,
  operatorOrganization,
} from './organizations.ts'
import { createSigninToken } from './sessions.ts'
import { firstWorkspaceId } from './workspaces.ts'

export interface FirstStart extends OrganizationStart {
  /** Null when the operator brought one in the environment. */
  managementKey: string | null
  inferenceKey: string
  signinToken: string
}

interface Wishes {
  managementKey: string | null
  initialCredits: bigint
}

/** The first organization and its keys; undefined when they exist. Safe when several nodes start at once. */
export async function firstStart(db: Db, clock: Clock, wishes: Wishes): Promise<FirstStart | undefined> {
  if (await operatorOrganization(db)) return undefined
  try {
    return await db.transaction().execute((tx) => createAll(tx, clock, wishes))
  } catch (error) {
    // Another node was first: its row in `instance` is the one that counts.
    if (isUniqueViolation(error)) return undefined
    throw error
  }
}

async function createAll(tx: Db, clock: Clock, wishes: Wishes): Promise<FirstStart> {
  await tx
    .insertInto('instance')
    .values({ name: 'first_start', value: isoNow(clock) })
    .execute()
  const start = await createOrganization(tx, clock, {
    name: 'My organization',
    ownerEmail: 'owner@localhost',
    isOperator: 1,
  })
  const common = {
    organizationId: start.organization.id,
    workspaceId: start.workspace.id,
    creatorUserId: start.owner.id,
  }
  const management = wishes.managementKey
    ? null
    : await createKey(tx, clock, { ...common, kind: 'management', name: 'First management key' })
  const inference = await createKey(tx, clock, { ...common, kind: 'inference', name: 'First key' })
  if (wishes.initialCredits > 0n) {
    await postFunding(tx, {
      organizationId: start.organization.id,
      kind: 'grant',
      amount: wishes.initialCredits,
      note: 'Initial credits',
      transactionId: newId('txn'),
      at: isoNow(clock),
    })
  }
  const signinToken = await createSigninToken(tx, clock, start.owner.id)
  return { ...start, managementKey: management?.secret ?? null, inferenceKey: inference.secret, signinToken }
}

/** Makes HEADGATE_MANAGEMENT_KEY a key of the first organization, and the value it had before none. */
export async function syncEnvironmentKey(db: Db, clock: Clock, secret: string | null): Promise<void> {
  const organization = await operatorOrganization(db)
  if (!organization) return
  const hash = secret === null ? '' : sha256(secret)
  await db.transaction().execute(async (tx) => {
    // Nodes that start together do this one after the other.
    await lockOrganization(tx, organization.id)
    await tx.deleteFrom('api_keys').where('source', '=', 'environment').where('hash', '!=', hash).execute()
    if (secret === null) return
    const known = await findKeyBySecret(tx, secret)
    if (known?.kind === 'management' && known.organization_id === organization.id) return
    if (known)
      throw new ConfigError('HEADGATE_MANAGEMENT_KEY is already another key; choose a value of its own.')
    await createKey(tx, clock, {
      organizationId: organization.id,
      workspaceId: await firstWorkspaceId(tx, organization.id),
      kind: 'management',
      name: 'HEADGATE_MANAGEMENT_KEY',
      secret,
      source: 'environment',
    })
  })
}

const sealContext = 'instance/seal_check'

/** True when the vault opens what this database was sealed with; a new database is marked with the vault. */
export async function vaultFits(db: Db, vault: Vault): Promise<boolean> {
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
