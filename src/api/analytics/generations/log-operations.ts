import { z } from 'zod'
import { countLog, findLogPage } from '../../../analytics/request-log/log.ts'
import { defineOperation } from '../../../http/operation.ts'
import { encryptTimeCursor, openTimeCursor } from '../../../platform/crypto/encrypted-cursor.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { queryBoolean, queryInteger } from '../../../platform/validation/query-params.ts'
import { logFilters, resolveLogSelection } from './filters.ts'
import { addLines, logRecord, toLogRecords } from './log-record.ts'
import { streamRequests } from './log-stream.ts'
import { searchTexts, textFilter } from './text-filter.ts'

const tag = 'Generations'

const listGenerations = defineOperation({
  id: 'listGenerations',
  method: 'GET',
  path: '/generations',
  tag,
  summary: 'Lists requests to models, newest first, with those that were refused.',
  description:
    'An extension. An inference key sees the requests of its workspace, a management key those of its organization; a member those of their keys, or all of a workspace. Filters are combined. A page examines a bounded number of requests, so it can have fewer than `limit`, or none, although there are more: continue until `cursor` is null. `searched_to` says how far back the page reaches.',
  permission: 'generations:read',
  query: logFilters.extend({
    text: textFilter.optional(),
    include_lines: queryBoolean()
      .optional()
      .describe('true: each entry has its turns, tools, plugins and nested requests.'),
    limit: queryInteger({ min: 1, max: 100, fallback: 50 }),
    cursor: z.string().min(1).max(1024).optional().describe('The cursor from the previous page.'),
  }),
  errors: [404],
  response: z.strictObject({
    data: z.array(logRecord),
    cursor: z.string().nullable().describe('The cursor of the next page; null on the last page.'),
    searched_to: z
      .string()
      .nullable()
      .describe('The arrival of the oldest request that was examined; null on the last page.'),
  }),
  handle: async (context) => {
    const { gateway, caller, query } = context
    const { limit, cursor, text, include_lines, ...filters } = query
    const selection = await resolveLogSelection(context, filters)
    const start = openTimeCursor(gateway.vault, cursorContextOf(selection.organizationId), cursor)
    const isOfOne = filters.id !== undefined || filters.request_id !== undefined
    // A client may ask for a request by its id before the replica has it.
    const stores = isOfOne ? { ...gateway, replica: null } : gateway
    const page = { limit, start }
    const { entries, last } =
      text === undefined
        ? await findLogPage(stores, selection, page)
        : await searchTexts(context, { selection, query: text }, page)
    const records = await toLogRecords(gateway, caller, entries)
    return {
      data: include_lines ? await addLines(gateway, records) : records,
      cursor: last && encryptTimeCursor(gateway.vault, cursorContextOf(selection.organizationId), last),
      searched_to: last?.created_at ?? null,
    }
  },
})

const streamGenerations = defineOperation({
  id: 'streamGenerations',
  method: 'GET',
  path: '/generations/stream',
  tag,
  summary: 'Streams new requests to models as they end.',
  description:
    'An extension: server-sent events, with the filters of `GET /generations`. `request` has an entry of that list; `skipped` says that there are more new requests than the stream shows, at most 100 a second; `end` says why the stream ends: its time is over, its key or session has ended, or it was not read fast enough. What the caller may see is checked every 15 seconds. A comment is sent every 15 seconds while nothing happens. Five streams can be open for each caller. Requests of all nodes are shown, about a second after they end.',
  permission: 'generations:read',
  query: logFilters.extend({
    seconds: queryInteger({ min: 1, max: 3600, fallback: 3600 }).describe('When the stream ends.'),
  }),
  errors: [404, 429],
  response: { contentType: 'text/event-stream' },
  handle: async (context) => {
    const { seconds, ...filters } = context.query
    return streamRequests(context, filters, seconds * 1000)
  },
})

const dayMs = 86_400_000

const countGenerations = defineOperation({
  id: 'countGenerations',
  method: 'GET',
  path: '/generations/histogram',
  tag,
  summary: 'Counts requests to models, errors and spending over time.',
  description:
    'An extension, with the filters of `GET /generations`: over the last 24 hours, or from `from` to `to`. At most 50,000 requests are examined, the newest first, for about a second; `searched_to` says how far back the counts reach. `POST /analytics/query` counts any number of requests, by other dimensions.',
  permission: 'generations:read',
  query: logFilters.omit({ id: true }).extend({
    buckets: queryInteger({ min: 1, max: 500, fallback: 60 }),
  }),
  errors: [404],
  response: z.strictObject({
    data: z.array(
      z.strictObject({
        start: z.string(),
        requests: z.int(),
        failed: z.int(),
        cancelled: z.int(),
        refused: z.int(),
        cost: z.number().describe('In USD.'),
      }),
    ),
    searched_to: z.string().nullable().describe('Earlier requests are not counted; null if all are.'),
  }),
  handle: async (context) => {
    const { gateway } = context
    const { buckets: count, ...filters } = context.query
    const selection = await resolveLogSelection(context, filters)
    const to = selection.to ?? new Date(gateway.clock.now()).toISOString()
    const from = selection.from ?? new Date(Date.parse(to) - dayMs).toISOString()
    if (from >= to) throw invalidFieldError('from', 'must be earlier than to, which is now by default')
    const { buckets, searchedTo } = await countLog(gateway, { ...selection, from, to }, count)
    return { data: buckets, searched_to: searchedTo }
  },
})

export const logOperations = [listGenerations, countGenerations, streamGenerations]

function cursorContextOf(organizationId: string): string {
  return `generations/${organizationId}`
}
