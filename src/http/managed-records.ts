import { deleteManagedRecord, findSets } from '../identity/managed-records.ts'
import { type RecordKindName, recordKind, recordKindNames, soleRecordId } from '../identity/record-kinds.ts'
import { asObject, type JsonObject } from '../platform/json/json-values.ts'
import type { Operation } from './operation.ts'
import type { Context } from './record-operations.ts'

/** Kinds by the operations that return or delete their records. */
const returnedKinds = groupKinds((name) => recordKind(name).returnedBy)
const deletedKinds = groupKinds((name) => [recordKind(name).deletedBy ?? ''])

function groupKinds(
  operationsOf: (name: RecordKindName) => readonly string[],
): ReadonlyMap<string, RecordKindName[]> {
  const kinds = new Map<string, RecordKindName[]>()
  for (const name of recordKindNames)
    for (const id of operationsOf(name)) kinds.set(id, [...(kinds.get(id) ?? []), name])
  return kinds
}

/** Adds `managed_by` to the records that an operation returns, and forgets the set of those that it deletes. */
export function markManagedRecords(operation: Operation): Operation {
  const [returned, deleted] = [returnedKinds.get(operation.id), deletedKinds.get(operation.id)]
  if (!returned && !deleted) return operation
  return {
    ...operation,
    handle: async (context: Context) => {
      const result = await operation.handle(context)
      if (deleted) await forgetRecord(context, deleted)
      return returned ? addSets(context, returned, result) : result
    },
  }
}

async function addSets(
  { gateway, caller }: Context,
  kinds: readonly RecordKindName[],
  result: unknown,
): Promise<unknown> {
  const [first] = kinds
  const reply = result instanceof Response ? undefined : asObject(result)
  if (!first || !caller || !reply) return result
  const field = recordKind(first).id
  const idOf = (record: JsonObject) => (field === null ? soleRecordId : String(record[field]))
  const { data } = reply
  const records = (Array.isArray(data) ? data : [data]) as JsonObject[]
  const sets = await findSets(gateway.db, caller.organizationId, kinds, records.map(idOf))
  if (sets.size === 0) return result
  const marked = records.map((record) => {
    const set = sets.get(idOf(record))
    return set === undefined ? record : { ...record, managed_by: set }
  })
  return { ...reply, data: Array.isArray(data) ? marked : marked[0] }
}

async function forgetRecord(
  { gateway, caller, params }: Context,
  kinds: readonly RecordKindName[],
): Promise<void> {
  if (!caller) return
  for (const kind of kinds)
    await deleteManagedRecord(gateway.db, {
      organizationId: caller.organizationId,
      kind,
      // Models have two parameters: author and slug.
      recordId: Object.values((params ?? {}) as Record<string, unknown>).join('/'),
    })
}
