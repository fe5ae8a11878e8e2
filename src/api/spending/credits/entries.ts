import { z } from 'zod'
import { defineOperation } from '../../../http/operation.ts'
import { type CreditEntry, creditEntryKinds, listCreditEntries } from '../../../ledger/entries.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { formatTimeCursor, parseTimeCursor } from '../../../platform/time/time-cursor.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'

const type = z.enum(creditEntryKinds)

const creditEntry = z
  .strictObject({
    transaction_id: z.string(),
    type,
    amount: z.number().describe('In USD; negative if credits were used.'),
    note: z.string().nullable(),
    created_at: z.string().describe('Of the first entry, where it replaces several.'),
    entry_count: z
      .int()
      .nullable()
      .describe('How many charges of a day were replaced by this entry; null for a single entry.'),
    last_entry_at: z.string().nullable().describe('The time of the last of them.'),
  })
  .meta({ id: 'CreditEntry' })

export const listCreditEntriesOperation = defineOperation({
  id: 'listCreditEntries',
  method: 'GET',
  path: '/credits/entries',
  tag: 'Credits',
  summary: 'Lists what was added to the credits of the organization and charged to them, newest first.',
  description: 'A charge is what was settled together. Old charges are replaced by one for each day.',
  permission: 'credits:read',
  query: z.object({
    type: type.optional(),
    from: utcTimestamp.optional(),
    to: utcTimestamp.optional().describe('Exclusive.'),
    limit: queryInteger({ min: 1, max: 100, fallback: 50 }),
    cursor: z.string().min(1).max(200).optional().describe('The cursor from the previous page.'),
  }),
  response: z.strictObject({
    data: z.array(creditEntry),
    cursor: z.string().nullable().describe('The cursor of the next page; null on the last page.'),
  }),
  handle: async ({ gateway, caller, query }) => {
    const { type: kind = null, limit } = query
    const [from, to] = [toStoredTime(query.from), toStoredTime(query.to)]
    if (from !== null && to !== null && from >= to) throw invalidFieldError('to', 'must be later than from')
    const before = readCursor(query.cursor)
    const entries = await listCreditEntries(gateway.db, caller.organizationId, {
      kind,
      from,
      to,
      before,
      limit,
    })
    const last = entries.length === limit ? entries.at(-1) : undefined
    return { data: entries.map(toEntryRecord), cursor: last ? formatTimeCursor(last) : null }
  },
})

/** Converts to the precision of the entries, so that texts compare as times do. */
function toStoredTime(time: string | undefined): string | null {
  return time === undefined ? null : new Date(time).toISOString()
}

function readCursor(cursor: string | undefined) {
  if (cursor === undefined) return null
  const position = parseTimeCursor(cursor)
  if (!position || !/^\d{1,15}$/.test(position.id))
    throw invalidFieldError('cursor', 'is not a cursor of this list')
  return { created_at: position.created_at, id: Number(position.id) }
}

function toEntryRecord(entry: CreditEntry): z.input<typeof creditEntry> {
  return {
    transaction_id: entry.transaction_id,
    type: type.parse(entry.kind),
    amount: usdFromNanos(entry.amount_nanos),
    note: entry.note,
    created_at: entry.created_at,
    entry_count: entry.entry_count,
    last_entry_at: entry.last_entry_at,
  }
}
