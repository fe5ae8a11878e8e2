import { type AuditedRequest, transact } from '../../../access/transact.ts'
import { applyOverrides, type CatalogOverrides, formatOverrideKey } from '../../../catalog/overrides.ts'
import {
  compareOverrideKeys,
  incrementCatalogVersion,
  listOverrides,
  type OverrideKey,
  type OverrideRow,
  removeOverride,
  saveOverride,
} from '../../../catalog/store.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { buildCatalogSources, installOverrides } from '../../../gateway/reload.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { ceilingReachedError } from '../../../identity/ceilings.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'

type OverrideColumns = Pick<OverrideRow, 'fields' | 'sealed_secrets'>

/** Creates or replaces an override; `build` gets the existing one. */
export function putOverride(
  request: AuditedRequest,
  name: OverrideKey,
  build: (existing: OverrideRow | undefined) => OverrideColumns,
): Promise<void> {
  return putOverrides(request, [{ name, build }])
}

export interface NewOverride {
  name: OverrideKey
  build: (existing: OverrideRow | undefined) => OverrideColumns
}

/** Creates or replaces several, all or none, in this node's catalog too before the response is sent; other nodes poll. */
export async function putOverrides(
  request: AuditedRequest,
  overrides: readonly NewOverride[],
): Promise<void> {
  const { gateway } = request
  const change = await transact(request, (tx, record) => writeOverrides({ gateway, tx, record }, overrides))
  installOverrides(gateway, change)
}

/** An audited transaction. */
interface OverrideChange {
  gateway: Gateway
  tx: Db
  record: RecordEvent
}

/** Creates or replaces overrides in a transaction. Returns all of them, to be installed after the commit. */
export function writeOverrides(
  { gateway, tx, record }: OverrideChange,
  overrides: readonly NewOverride[],
): Promise<{ version: number; rows: OverrideRow[] }> {
  return changeRows(tx, async (rows) => {
    const max = gateway.settings.ceilings.catalogue_edits
    let after = rows
    const changed: { row: OverrideRow; existing: OverrideRow | undefined }[] = []
    for (const { name, build } of overrides) {
      const existing = after.find((row) => isSameOverride(row, name))
      const row = { ...name, ...build(existing), updated_at: isoNow(gateway.clock) }
      after = [...after.filter((other) => other !== existing), row]
      changed.push({ row, existing })
    }
    if (after.length > rows.length && after.length > max) throw ceilingReachedError('catalogue_edits', max)
    after.sort(compareOverrideKeys)
    const { problems } = previewOverrides(gateway, after)
    for (const { row } of changed) {
      const problem = problems.get(formatOverrideKey(row))
      if (problem) throw problem
    }
    rejectBrokenDependents(rows, previewOverrides(gateway, rows).problems, problems)
    for (const { row, existing } of changed) {
      await saveOverride(tx, row)
      record({
        ...describeOverride(row, existing ? 'update' : 'create'),
        before: existing ?? null,
        after: row,
      })
    }
    return after
  })
}

/** In this node's catalog too before the response is sent; other nodes poll. */
export async function deleteOverride(request: AuditedRequest, name: OverrideKey): Promise<void> {
  const { gateway } = request
  const change = await transact(request, (tx, record) =>
    changeRows(tx, async (rows) => {
      const existing = rows.find((row) => isSameOverride(row, name))
      const after = rows.filter((row) => row !== existing)
      if (!existing) throw gatewayError('not_found', 'There is no override to delete.')
      rejectBrokenDependents(
        after,
        previewOverrides(gateway, rows).problems,
        previewOverrides(gateway, after).problems,
      )
      await removeOverride(tx, name)
      record({ ...describeOverride(name, 'delete'), before: existing })
      return after
    }),
  )
  installOverrides(gateway, change)
}

/** Locks the overrides by their version first. */
async function changeRows(
  tx: Db,
  change: (rows: OverrideRow[]) => Promise<OverrideRow[]>,
): Promise<{ version: number; rows: OverrideRow[] }> {
  const version = await incrementCatalogVersion(tx)
  return { version, rows: await change(await listOverrides(tx)) }
}

/** The action and the target of an event. */
function describeOverride({ kind, name, tag }: OverrideKey, verb: 'create' | 'update' | 'delete') {
  const type = `catalogue_${kind}`
  return { action: `${type}.${verb}`, target: { type, id: tag === '' ? name : `${name} ${tag}` } }
}

function isSameOverride(row: OverrideKey, name: OverrideKey): boolean {
  return formatOverrideKey(row) === formatOverrideKey(name)
}

function previewOverrides(gateway: Gateway, rows: readonly OverrideRow[]) {
  return applyOverrides(buildCatalogSources(gateway), rows, gateway.vault)
}

/** Rejects a change that breaks other overrides: a model of this provider, an endpoint of this model. */
function rejectBrokenDependents(
  rows: readonly OverrideRow[],
  before: CatalogOverrides['problems'],
  after: CatalogOverrides['problems'],
): void {
  for (const [key, problem] of after) {
    const row = before.has(key) ? undefined : rows.find((candidate) => formatOverrideKey(candidate) === key)
    if (!row) continue
    const { kind, name, tag } = row
    const what = kind === 'endpoint' ? `endpoint ${tag} of ${name}` : `${kind} ${name}`
    throw gatewayError(
      'conflict',
      `The ${what} was created at run time and depends on this: ${problem.message}.`,
    )
  }
}
