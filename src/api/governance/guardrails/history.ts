import { z } from 'zod'
import { resolveCoveredWorkspaces } from '../../../access/reachable-workspace.ts'
import { type AuditedRequest, transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { FilterHit } from '../../../governance/filters/filter-set.ts'
import type { ContentRules } from '../../../governance/policy/content-rules.ts'
import { defineOperation } from '../../../http/operation.ts'
import { loadKeyNames } from '../../../identity/record-names.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { yieldToEventLoop } from '../../../platform/time/time-slicer.ts'
import { type ContentPosition, type StoredPrompt, walkPrompts } from '../../../storage/stored-contents.ts'
import { buildDraftContext, draftBody } from './draft.ts'
import { HistoryTotals, historyTotals } from './history-totals.ts'
import { listStoredTexts } from './stored-texts.ts'

const dayMs = 86_400_000
/** One call ends after this time or these bytes, and the next one continues. */
const maxMs = 5000
const maxBytes = 32 * 1024 * 1024

const historyBody = z.strictObject({
  guardrail: draftBody,
  workspace_id: z.uuid().optional().describe('Defaults to all workspaces of the caller.'),
  days: z.int().min(1).max(30).default(7),
  limit: z.int().min(1).max(1000).default(200).describe('The number of prompts that one call examines.'),
  cursor: z.string().min(1).max(1024).optional().describe('The cursor from the previous call.'),
})

export const historyOperation = defineOperation({
  id: 'previewGuardrailHistory',
  method: 'POST',
  path: '/guardrails/preview/history',
  tag: 'Guardrails',
  summary: 'Evaluates the filters of a draft against stored prompts, and returns totals without any text.',
  description:
    'Only workspaces with `is_observability_io_logging_enabled` store prompts. They are examined newest first, as they were stored: without media, and after the guardrails of that time had redacted them. A call examines at most `limit` prompts and takes a few seconds at most; its totals are of these prompts. Continue with `cursor` until it is null. Every call is in the audit log.',
  permission: 'guardrails:write',
  body: historyBody,
  errors: [404],
  response: z.strictObject({
    data: historyTotals,
    cursor: z.string().nullable().describe('null if there are no more prompts.'),
  }),
  handle: async (request) => {
    const { gateway, caller, body } = request
    const { organizationId } = caller
    const workspaceIds = await resolveCoveredWorkspaces(gateway.db, request, body.workspace_id)
    const context = await buildDraftContext(gateway, body.guardrail, { key: caller.key, layer: null })
    const from = new Date(gateway.clock.now() - body.days * dayMs).toISOString()
    const scope = { organizationId, workspaceIds, from }
    const start = openCursor(gateway, organizationId, body.cursor)
    const prompts = walkPrompts(gateway, scope, start)
    const { totals, last } = await examine(gateway, context.contentRules, prompts, body.limit)
    await recordReading(request, totals, workspaceIds)
    const keys = await loadKeyNames(gateway.db, organizationId, totals.keyIds)
    return {
      data: totals.toRecord(keys),
      cursor: last && gateway.vault.encrypt(JSON.stringify(last), cursorContextOf(organizationId)),
    }
  },
})

/** Records the stored prompts that a caller has had examined: filters and totals reveal something about them. */
async function recordReading(
  request: AuditedRequest,
  { examined, newestId, oldestId }: HistoryTotals,
  workspaceIds: ReadonlySet<string> | null,
): Promise<void> {
  if (newestId === null) return
  const [workspaceId = null, ...others] = workspaceIds ?? []
  await transact(request, async (_tx, record) =>
    record({
      action: 'content.read',
      target: { type: 'generation', id: newestId },
      workspaceId: others.length === 0 ? workspaceId : null,
      details: { examined, newest: newestId, oldest: oldestId },
    }),
  )
}

/** Examines prompts until a bound is reached; `last` is null if all were examined. */
async function examine(
  gateway: Gateway,
  rules: ContentRules | null,
  prompts: AsyncGenerator<StoredPrompt>,
  limit: number,
): Promise<{ totals: HistoryTotals; last: ContentPosition | null }> {
  const totals = new HistoryTotals()
  const startedAt = performance.now()
  let bytes = 0
  let last: ContentPosition | null = null
  for await (const prompt of prompts) {
    if (totals.examined === limit || bytes > maxBytes || performance.now() - startedAt > maxMs)
      return { totals, last }
    bytes += prompt.bytes
    last = { created_at: prompt.created_at, generation_id: prompt.generation_id }
    totals.add(prompt, await findHits(gateway, rules, prompt))
    await yieldToEventLoop()
  }
  return { totals, last: null }
}

async function findHits(
  { scanner }: Gateway,
  rules: ContentRules | null,
  { input }: StoredPrompt,
): Promise<FilterHit[]> {
  if (!rules?.input) return []
  const results = await scanner.redact(rules.input, listStoredTexts(input))
  return results.flatMap(({ hits }) => hits)
}

function cursorContextOf(organizationId: string): string {
  return `guardrails/history/${organizationId}`
}

function openCursor(
  { vault }: Gateway,
  organizationId: string,
  cursor: string | undefined,
): ContentPosition | null {
  if (cursor === undefined) return null
  try {
    return JSON.parse(vault.decrypt(cursor, cursorContextOf(organizationId)))
  } catch {
    throw invalidFieldError('cursor', 'is not a cursor of this operation')
  }
}
