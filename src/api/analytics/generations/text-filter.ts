import { z } from 'zod'
import { authorize } from '../../../access/authorize.ts'
import { type Caller, isInferenceKey } from '../../../access/caller.ts'
import { type AuditedRequest, transact } from '../../../access/transact.ts'
import { type LogSelection, listVisibleRequests } from '../../../analytics/request-log/selection.ts'
import { findTextPage } from '../../../analytics/request-log/text-search.ts'
import type { LogPage, LogPosition } from '../../../analytics/request-log/walk.ts'
import { indexContents } from '../../../storage/content-search/index-contents.ts'
import { parseTextQuery, type TextQuery } from '../../../storage/content-search/words.ts'

const maxLength = 256
const maxWords = 32

/** Words and phrases in a query. */
export const textFilter = z
  .string()
  .min(1)
  .max(maxLength)
  .transform((text, context) => {
    const query = parseTextQuery(text)
    const words = query.phrases.flat().length
    if (words > 0 && words <= maxWords) return query
    context.addIssue({ code: 'custom', message: `must have 1 to ${maxWords} words` })
    return z.NEVER
  })
  .meta({ override: { type: 'string', minLength: 1, maxLength } })
  .describe(
    'Words, or "phrases" in quotation marks, all of which are in the logged prompt or reply. Case is ignored. Only where prompts and replies are logged and may be read: `contents:read`. Each search that finds something is in the audit log.',
  )

/** A search indexes what was logged a moment ago for at most this time. */
const indexMs = 200

interface SearchRequest extends AuditedRequest {
  caller: Caller
}

/** A page of the requests with a text that the caller may read. */
export async function searchTexts(
  request: SearchRequest,
  { selection, query }: { selection: LogSelection; query: TextQuery },
  page: { limit: number; start: LogPosition | null },
): Promise<LogPage> {
  const { gateway, caller } = request
  const scope = await authorize(gateway, caller, 'contents:read')
  // As GET /generation/content has it: with an inference key, only what it sent itself.
  const readable = isInferenceKey(caller)
    ? [[{ columns: ['key_id'], values: [caller.key.id] }]]
    : listVisibleRequests(scope)
  await indexContents(gateway, indexMs).catch((err: unknown) =>
    gateway.log.warn({ err }, 'failed to index logged contents'),
  )
  const found = await findTextPage(gateway, { selection, query, readable }, page)
  await recordReading(request, found)
  return found
}

/** What is found says something about the texts. */
async function recordReading(request: AuditedRequest, { entries }: LogPage): Promise<void> {
  const ids = entries.flatMap(({ generation }) => generation?.id ?? [])
  const [newest] = ids
  if (newest === undefined) return
  const workspaces = new Set(entries.flatMap(({ generation }) => generation?.workspace_id ?? []))
  const [workspaceId = null, ...others] = workspaces
  await transact(request, async (_tx, record) =>
    record({
      action: 'content.read',
      target: { type: 'generation', id: newest },
      workspaceId: others.length === 0 ? workspaceId : null,
      details: { search: true, found: ids.length, newest, oldest: ids.at(-1) ?? newest },
    }),
  )
}
