import type { Gateway } from '../../../gateway/gateway.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { findDefaultTier, requireTier } from '../../../governance/limits/tier-store.ts'
import { encodeTagRules } from '../../../governance/tags/rules.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import {
  findKeyByHash,
  formatLabel,
  insertKey,
  type KeyCredential,
  lockKeyOwners,
} from '../../../identity/keys.ts'
import { findMember, findMemberByEmail } from '../../../identity/members.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { resolveWorkspace } from '../../../identity/workspaces.ts'
import { meterSubjects } from '../../../ledger/meter-subjects.ts'
import { openMeter } from '../../../ledger/opening-spend.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import type { Db } from '../../../platform/db/db.ts'
import { GatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { TimeSlicer } from '../../../platform/time/time-slicer.ts'
import { describeKey } from './find.ts'
import type { ImportedKey } from './imported-key.ts'
import { resolveNewPriority } from './priority.ts'

/** An audited transaction of an organization. */
export interface KeyImport {
  gateway: Pick<Gateway, 'clock' | 'settings'>
  tx: Db
  record: RecordEvent
  organizationId: string
  /** Where keys may be imported. */
  scope: Scope
  /** Accepts secrets that could be guessed. */
  allowWeak: boolean
}

export interface ImportOutcome {
  outcome: 'created' | 'existing' | 'rejected'
  hash: string
  name: string
  /** Why it was rejected. */
  message: string | null
}

/**
 * Imports keys. One that exists is left as it is, so an import can be repeated. One that cannot be imported does not
 * keep the others from it.
 */
export async function importKeys(input: KeyImport, keys: readonly ImportedKey[]): Promise<ImportOutcome[]> {
  const { tx, gateway, organizationId } = input
  await lockOrganization(tx, organizationId)
  const slicer = new TimeSlicer()
  const outcomes: ImportOutcome[] = []
  for (const key of keys) {
    const pending = slicer.pendingYield
    if (pending) await pending
    const startedAt = performance.now()
    outcomes.push(await importKey(input, key))
    slicer.recordWork(startedAt)
  }
  await assertWithinCeiling(tx, gateway.settings.ceilings, 'keys', organizationId)
  return outcomes
}

async function importKey(input: KeyImport, key: ImportedKey): Promise<ImportOutcome> {
  const hash = key.hash ?? sha256(key.secret ?? '')
  const described = { hash, name: key.name, message: null }
  try {
    if (await isImported(input, hash)) return { ...described, outcome: 'existing' }
    await createImportedKey(input, key, { hash, label: key.label ?? formatImportedLabel(key, hash) })
    return { ...described, outcome: 'created' }
  } catch (error) {
    // Others end the import: a caller without the permission, or a conflict with another transaction.
    if (!(error instanceof GatewayError && rejections.has(error.code))) throw error
    return { ...described, outcome: 'rejected', message: error.message }
  }
}

/** Errors of single keys, which are found before a statement fails. */
const rejections: ReadonlySet<string> = new Set(['invalid_request', 'forbidden'])

async function isImported({ tx, organizationId }: KeyImport, hash: string): Promise<boolean> {
  const known = await findKeyByHash(tx, hash)
  if (!known) return false
  if (known.organization_id === organizationId && known.kind === 'inference') return true
  throw invalidFieldError('hash', 'is already used by another credential of this installation')
}

async function createImportedKey(
  input: KeyImport,
  key: ImportedKey,
  credential: KeyCredential,
): Promise<void> {
  const { tx, gateway, record, organizationId, scope } = input
  if (key.secret !== undefined && !input.allowWeak) rejectWeakSecret(key.secret)
  const workspace = await resolveWorkspace(tx, organizationId, key.workspace, 'workspace')
  // Not those who may manage only the keys they created: what they spend is limited.
  assertWithinScope(scope, { workspaceId: workspace.id })
  const creatorUserId = await resolveOwner(tx, organizationId, key.owner)
  const tier =
    key.tier === undefined
      ? await findDefaultTier(tx, organizationId)
      : await requireTier(tx, organizationId, key.tier, 'tier')
  const priority = resolveNewPriority(scope, workspace.id, key)
  const owners = {
    organization_id: organizationId,
    workspace_id: workspace.id,
    creator_user_id: creatorUserId,
  }
  await lockKeyOwners(tx, owners)
  const created = await insertKey(
    tx,
    gateway.clock,
    {
      ...{
        organizationId,
        workspaceId: workspace.id,
        kind: 'inference',
        name: key.name,
        creatorUserId,
        tier,
      },
      limit: key.limit ?? null,
      limitReset: key.limit_reset ?? null,
      includeByokInLimit: key.include_byok_in_limit ?? false,
      expiresAt: key.expires_at ?? null,
      disabled: key.disabled ?? false,
      tagRules: encodeTagRules(key.tags ?? null),
      ...priority,
    },
    credential,
  )
  const { spend = 0n, limit_reset: reset } = key
  await openMeter(tx, gateway.clock, {
    organizationId,
    subject: meterSubjects.key(created.id),
    amount: spend,
    window: reset ? { reset, amount: key.spend_in_window ?? spend } : null,
  })
  const details = { opening_spend_nanos: String(spend) }
  record({ action: 'key.import', ...describeKey(created), after: created, details })
}

/** Random secrets have more of both. */
const minSecretLength = 20
const minDifferentCharacters = 10

/** The hash of a short secret, or of a regular one, can be found by trying. */
function rejectWeakSecret(secret: string): void {
  if (secret.length >= minSecretLength && new Set(secret).size >= minDifferentCharacters) return
  throw invalidFieldError(
    'secret',
    `is weak: it has fewer than ${minSecretLength} characters, or fewer than ${minDifferentCharacters} different ones. Issue a new key, or allow weak secrets`,
  )
}

async function resolveOwner(
  tx: Db,
  organizationId: string,
  owner: string | null | undefined,
): Promise<string | null> {
  if (owner === undefined || owner === null) return null
  const member = owner.includes('@')
    ? await findMemberByEmail(tx, organizationId, owner)
    : await findMember(tx, organizationId, owner)
  if (member) return member.id
  throw invalidFieldError('owner', 'is not a member of the organization')
}

function formatImportedLabel({ secret }: ImportedKey, hash: string): string {
  return secret === undefined ? `sha256:${hash.slice(0, 8)}...` : formatLabel(secret)
}
