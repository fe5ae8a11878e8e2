import { listUsableAliases } from '../../../catalog/aliases.ts'
import { findModelOrRouter } from '../../../catalog/router-models.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { createKey, deleteKey, findKeyById } from '../../../identity/keys.ts'
import { addWorkspace, lockOrganization } from '../../../identity/organizations.ts'
import { findWorkspaceId } from '../../../identity/workspaces.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { nanosFromUsd } from '../../../platform/money/money.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import {
  deleteShadow,
  insertShadow,
  type ShadowRow,
  saveShadow,
  shadowWorkspaceSlug,
} from '../../../storage/shadows/shadow.ts'
import { describeShadow, encodeTarget, type ShadowChange, type ShadowDraft, toColumns } from './record.ts'

interface Change {
  gateway: Gateway
  tx: Db
  record: RecordEvent
}

export async function createShadowRow(
  { gateway, tx, record }: Change,
  organizationId: string,
  { workspace_id = null, ...draft }: ShadowDraft,
): Promise<ShadowRow> {
  await lockOrganization(tx, organizationId)
  await assertModelExists(gateway, tx, { organization_id: organizationId, workspace_id }, draft.target)
  const { name } = draft
  const now = isoNow(gateway.clock)
  const row: ShadowRow = {
    id: newUuid(),
    organization_id: organizationId,
    workspace_id,
    key_id: await createSpendingKey({ gateway, tx, record }, organizationId, name),
    name,
    enabled: draft.enabled === false ? 0 : 1,
    share_ppm: Math.round((draft.share ?? 0) * 1_000_000),
    models: draft.models ? JSON.stringify(draft.models) : null,
    target: encodeTarget(draft.target),
    daily_nanos: nanosFromUsd(draft.daily_usd) ?? 0n,
    max_body_bytes: draft.max_body_bytes ?? 256 * 1024,
    timeout_ms: (draft.timeout_seconds ?? 120) * 1000,
    concurrency: draft.concurrency ?? 8,
    created_at: now,
    updated_at: now,
  }
  await insertShadow(tx, row)
  await assertWithinCeiling(tx, gateway.settings.ceilings, 'shadows', organizationId)
  record({ action: 'shadow.create', ...describeShadow(row), after: row })
  return row
}

export async function updateShadowRow(
  { gateway, tx, record }: Change,
  row: ShadowRow,
  change: ShadowChange,
): Promise<ShadowRow> {
  await assertModelExists(gateway, tx, row, change.target)
  const columns = Object.entries(toColumns(change)).filter(([, value]) => value !== undefined)
  const changed: ShadowRow = { ...row, ...Object.fromEntries(columns), updated_at: isoNow(gateway.clock) }
  // Its key can be deleted like any other.
  if (!(await findKeyById(tx, row.key_id)))
    changed.key_id = await createSpendingKey({ gateway, tx, record }, row.organization_id, changed.name)
  await saveShadow(tx, changed)
  record({ action: 'shadow.update', ...describeShadow(row), before: row, after: changed })
  return changed
}

export async function deleteShadowRow({ gateway, tx, record }: Change, row: ShadowRow): Promise<void> {
  const key = await findKeyById(tx, row.key_id)
  if (key) await deleteKey(tx, gateway.clock, key)
  await deleteShadow(tx, row.id)
  record({ action: 'shadow.delete', ...describeShadow(row), before: row })
}

/** A disabled key whose secret is discarded: what mirrors cost is counted for it, and for no other. */
async function createSpendingKey(
  { gateway, tx, record }: Change,
  organizationId: string,
  name: string,
): Promise<number> {
  const { key } = await createKey(tx, gateway.clock, {
    organizationId,
    workspaceId: await ensureWorkspace({ gateway, tx, record }, organizationId),
    kind: 'inference',
    name: `Shadow: ${name}`,
    creatorUserId: null,
    disabled: true,
  })
  record({
    action: 'key.create',
    target: { type: 'key', id: key.hash, name: key.name },
    workspaceId: key.workspace_id,
    after: key,
  })
  await assertWithinCeiling(tx, gateway.settings.ceilings, 'keys', organizationId)
  return key.id
}

async function ensureWorkspace({ gateway, tx, record }: Change, organizationId: string): Promise<string> {
  const existing = await findWorkspaceId(tx, organizationId, shadowWorkspaceSlug)
  if (existing) return existing
  const workspace = await addWorkspace(
    tx,
    gateway.clock,
    { organizationId, createdBy: null },
    {
      slug: shadowWorkspaceSlug,
      name: 'Shadow mode',
      description: 'Requests that shadows have mirrored, and what they cost.',
    },
  )
  await assertWithinCeiling(tx, gateway.settings.ceilings, 'workspaces', organizationId)
  record({
    action: 'workspace.create',
    target: { type: 'workspace', id: workspace.id, name: workspace.name },
    workspaceId: workspace.id,
    after: workspace,
  })
  return workspace.id
}

/** With an unknown model, every mirror would fail. */
async function assertModelExists(
  { catalog }: Gateway,
  tx: Db,
  place: Pick<ShadowRow, 'organization_id' | 'workspace_id'>,
  target: ShadowChange['target'],
): Promise<void> {
  const name = target?.model
  if (name == null) return
  const [base = ''] = name.split(':')
  const aliases = new Set((await listUsableAliases(tx, place)).map((alias) => alias.name))
  if (aliases.has(name) || aliases.has(base) || findModelOrRouter(catalog, name)) return
  throw invalidFieldError('target.model', `"${name.slice(0, 100)}" is neither a model nor an alias`)
}
