import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import {
  deleteManagedRecord,
  findManagedRecord,
  listManagedRecords,
  type ManagedRecordRow,
  saveManagedRecord,
} from '../../../identity/managed-records.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { recordKindNames } from '../../../identity/record-kinds.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'

const tag = 'Configuration'

const kindField = z.enum(recordKindNames).describe('The kind of the record.')
const idField = z
  .string()
  .min(1)
  .max(300)
  .describe('The id, hash, slug or name of the record in its own API.')
const setField = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'must be 1 to 63 of a-z, 0-9, ".", "_" and "-"')
  .describe('The set of configuration files.')

const maxFields = 200
const fieldName = z.string().min(1).max(200)

const recordFields = {
  kind: kindField,
  id: idField,
  name: nameField(300).describe('What the files call the record.'),
  set: setField,
  fields: z.array(fieldName).max(maxFields).describe('The fields that the files declare.'),
  secrets: z
    .record(fieldName, z.string().max(200))
    .refine((hashes) => Object.keys(hashes).length <= maxFields, `must have at most ${maxFields} fields`)
    .describe('A salted hash of each secret that was applied, which tells whether it has changed.'),
}

const managedRecord = z
  .strictObject({ ...recordFields, created_at: z.string(), updated_at: z.string() })
  .meta({ id: 'ManagedRecord' })

const saveBody = z.strictObject({
  ...recordFields,
  take_over: z.boolean().default(false).describe('Whether the record may be taken from another set.'),
})

const listOperation = defineOperation({
  id: 'listManagedRecords',
  method: 'GET',
  path: '/configuration/records',
  tag,
  summary: 'Lists the records that sets of configuration files declare, by kind.',
  description: 'Records that were deleted without `headgate apply` may still be listed.',
  permission: 'configuration:read',
  query: pageQuery.extend({ set: setField.optional(), kind: kindField.optional() }),
  response: z.strictObject({ data: z.array(managedRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query: { set, kind, ...page } }) => {
    const filter = { organizationId: caller.organizationId, set, kind }
    const { rows, total } = await listManagedRecords(gateway.db, filter, page)
    return { data: rows.map(toRecord), total_count: Number(total) }
  },
})

const saveOperation = defineOperation({
  id: 'saveManagedRecord',
  method: 'PUT',
  path: '/configuration/records',
  tag,
  summary: 'Notes that a set of configuration files declares a record. `headgate apply` calls it.',
  permission: 'configuration:write',
  body: saveBody,
  errors: [409],
  response: z.strictObject({ data: managedRecord }),
  handle: (context) => {
    const { gateway, caller, body } = context
    const { organizationId } = caller
    return transact(context, async (tx, record) => {
      await lockOrganization(tx, organizationId)
      const before = await findManagedRecord(tx, { organizationId, kind: body.kind, recordId: body.id })
      if (before && before.set_name !== body.set && !body.take_over)
        throw gatewayError('conflict', `The set "${before.set_name}" declares the record.`)
      const now = isoNow(gateway.clock)
      const row: ManagedRecordRow = {
        organization_id: organizationId,
        kind: body.kind,
        record_id: body.id,
        name: body.name,
        set_name: body.set,
        fields: JSON.stringify(body.fields),
        secrets: JSON.stringify(body.secrets),
        created_at: before?.created_at ?? now,
        updated_at: now,
      }
      await saveManagedRecord(tx, row)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'managed_records', organizationId)
      record({
        action: 'configuration.manage',
        target: targetOf(row),
        before: before ? shownOf(before) : null,
        after: shownOf(row),
      })
      return { data: toRecord(row) }
    })
  },
})

const deleteOperation = defineOperation({
  id: 'deleteManagedRecord',
  method: 'DELETE',
  path: '/configuration/records',
  tag,
  summary: 'Notes that no set of configuration files declares a record any more. The record stays.',
  permission: 'configuration:write',
  query: z.object({ kind: kindField, id: idField }),
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) => {
    const { caller, query } = context
    const { organizationId } = caller
    return transact(context, async (tx, record) => {
      await lockOrganization(tx, organizationId)
      const before = await deleteManagedRecord(tx, { organizationId, kind: query.kind, recordId: query.id })
      if (!before) throw gatewayError('not_found', 'No set of configuration files declares the record.')
      record({ action: 'configuration.release', target: targetOf(before), before: shownOf(before) })
      return { deleted: true as const }
    })
  },
})

export const configurationOperations = [listOperation, saveOperation, deleteOperation]

function toRecord(row: ManagedRecordRow): z.input<typeof managedRecord> {
  return {
    kind: row.kind as z.output<typeof kindField>,
    id: row.record_id,
    name: row.name,
    set: row.set_name,
    fields: JSON.parse(row.fields),
    secrets: JSON.parse(row.secrets),
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

function targetOf({ kind, record_id, name }: ManagedRecordRow) {
  return { type: 'managed_record', id: `${kind}/${record_id}`, name }
}

/** Hashes of secrets are not for the audit log. */
function shownOf({ set_name, name, fields }: ManagedRecordRow) {
  return { set: set_name, name, fields }
}
