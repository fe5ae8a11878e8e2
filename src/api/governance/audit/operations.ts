import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { AuditEntry } from '../../../governance/audit/entry.ts'
import { exportContentTypes, exportEntries, exportFormats } from '../../../governance/audit/export.ts'
import { auditRecord, toAuditRecord } from '../../../governance/audit/record.ts'
import {
  type AuditSelection,
  type EntryPosition,
  matchesSelection,
  walkEntries,
} from '../../../governance/audit/store.ts'
import { defineOperation } from '../../../http/operation.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { yieldToEventLoop } from '../../../platform/time/time-slicer.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'
import { auditDestinationOperations } from './destinations.ts'
import { auditFilters, resolveSelection } from './filters.ts'

/** Entries that are read for one page: filters without an index are applied to these. */
const maxExamined = 10_000

const listAuditEntries = defineOperation({
  id: 'listAuditEntries',
  method: 'GET',
  path: '/audit',
  tag: 'Audit log',
  summary: 'Lists the audit log, newest first.',
  description:
    'A page can have fewer entries than `limit` although there are more: continue until `cursor` is null.',
  permission: 'audit:read',
  query: auditFilters.extend({
    limit: queryInteger({ min: 1, max: 1000, fallback: 100 }),
    cursor: z.string().min(1).max(1024).optional().describe('The cursor from the previous page.'),
  }),
  response: z.strictObject({
    data: z.array(auditRecord),
    cursor: z.string().nullable().describe('The cursor of the next page; null on the last page.'),
  }),
  handle: async ({ gateway, caller, query }) => {
    const { limit, cursor, ...filters } = query
    const selection = await resolveSelection(gateway, caller, filters)
    const start = openCursor(gateway, selection.chainId, cursor)
    const { entries, last } = await readPage(gateway, selection, { limit, start })
    return {
      data: entries.map(toAuditRecord),
      cursor: last && encryptCursor(gateway, selection.chainId, last),
    }
  },
})

const exportAuditEntries = defineOperation({
  id: 'exportAuditEntries',
  method: 'GET',
  path: '/audit/export',
  tag: 'Audit log',
  summary: 'Downloads the audit log as CSV or JSON lines, newest first.',
  description: 'The download is itself recorded, as `audit.export`.',
  permission: 'audit:read',
  query: auditFilters.extend({ format: z.enum(exportFormats).default('jsonl') }),
  response: { contentType: 'application/x-ndjson' },
  otherContentTypes: ['text/csv'],
  handle: async (context) => {
    const { gateway, caller, query } = context
    const { format, ...filters } = query
    const selection = await resolveSelection(gateway, caller, filters)
    await transact(context, async (_tx, record) => {
      record({
        action: 'audit.export',
        target: { type: 'audit', id: selection.chainId },
        details: { format, ...filters },
      })
    })
    const name = `audit-${isoNow(gateway.clock).slice(0, 10)}.${format}`
    return new Response(toStream(exportEntries(gateway.db, selection, format)), {
      headers: {
        'content-type': exportContentTypes[format],
        'content-disposition': `attachment; filename="${name}"`,
      },
    })
  },
})

export const auditOperations = [listAuditEntries, exportAuditEntries, ...auditDestinationOperations]

/** Pulled: the next entries are read when the client has taken the last. */
function toStream(chunks: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      cancel: async () => {
        await chunks.return(undefined)
      },
    },
    { highWaterMark: 1 },
  )
}

interface EntryPage {
  entries: AuditEntry[]
  /** The next page begins behind it; null if there are no more entries. */
  last: EntryPosition | null
}

async function readPage(
  { db }: Gateway,
  selection: AuditSelection,
  { limit, start }: { limit: number; start: EntryPosition | null },
): Promise<EntryPage> {
  const entries: AuditEntry[] = []
  let examined = 0
  let last: EntryPosition | null = null
  for await (const batch of walkEntries(db, selection, start)) {
    for (const entry of batch) {
      if (entries.length === limit || examined === maxExamined) return { entries, last }
      if (matchesSelection(selection, entry)) entries.push(entry)
      examined++
      last = entry
    }
    await yieldToEventLoop()
  }
  return { entries, last: null }
}

function cursorContextOf(chainId: string): string {
  return `audit/${chainId}`
}

/** Encrypted, so that a changed one is rejected. */
function encryptCursor({ vault }: Gateway, chainId: string, { created_at, seq }: EntryPosition): string {
  return vault.encrypt(JSON.stringify([created_at, seq]), cursorContextOf(chainId))
}

function openCursor({ vault }: Gateway, chainId: string, cursor: string | undefined): EntryPosition | null {
  if (cursor === undefined) return null
  try {
    const [created_at, seq] = JSON.parse(vault.decrypt(cursor, cursorContextOf(chainId)))
    return { created_at, seq }
  } catch {
    throw invalidFieldError('cursor', 'is not a cursor of this list')
  }
}
