import { z } from 'zod'
import { scopeOf } from '../../../access/authorize.ts'
import { resolveCoveredWorkspaces } from '../../../access/reachable-workspace.ts'
import { examinePastRequests } from '../../../analytics/request-log/past-requests.ts'
import {
  type Condition,
  type LogSelection,
  listVisibleRequests,
} from '../../../analytics/request-log/selection.ts'
import type { GenerationRow } from '../../../analytics/request-log/walk.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { isDefaultGuardrail } from '../../../governance/policy/default-guardrail.ts'
import { computeEffectivePolicy } from '../../../governance/policy/effective.ts'
import type { GuardrailRow } from '../../../governance/policy/guardrail.ts'
import { expandAliases } from '../../../governance/policy/store.ts'
import { defineOperation, type OperationContext } from '../../../http/operation.ts'
import { loadKeyNames } from '../../../identity/record-names.ts'
import { draftBody, parseDraft } from './draft.ts'
import { requireGuardrail } from './guardrail.ts'
import { PastExaminer } from './past-examiner.ts'
import { requestTotals } from './requests-totals.ts'
import { type Assignees, loadAssignees } from './store.ts'

const dayMs = 86_400_000
const maxRequests = 10_000
/** With more assignments, the requests of the workspace are read, and those of others skipped. */
const maxSelected = 500

const requestsBody = z.strictObject({
  guardrail: draftBody,
  guardrail_id: z
    .uuid()
    .toLowerCase()
    .optional()
    .describe('Only requests of the keys and members that this guardrail is assigned to.'),
  workspace_id: z.uuid().optional().describe('Defaults to all workspaces of the caller.'),
  days: z.int().min(1).max(30).default(7),
  max_requests: z.int().min(1).max(maxRequests).default(maxRequests),
})

type RequestsContext = OperationContext<'guardrails:read', undefined, undefined, typeof requestsBody>

export const requestsOperation = defineOperation({
  id: 'previewGuardrailRequests',
  method: 'POST',
  path: '/guardrails/preview/requests',
  tag: 'Guardrails',
  summary:
    'Counts the past requests that the models, providers, regions, data policy and budget of a draft would have rejected.',
  description:
    'Nothing is changed or sent. Requests that reached a provider are examined newest first, at most 10,000 and for ten seconds at most, among those that the caller may see with `generations:read`. The endpoint that served a request is checked, then the others of its model; fallbacks to other models are not. Only spending within the period counts toward the budget. Filters and moderation play no part: see `POST /guardrails/preview/history`.',
  permission: 'guardrails:read',
  body: requestsBody,
  errors: [404],
  response: z.strictObject({ data: requestTotals }),
  handle: async (context) => {
    const { gateway, caller, body } = context
    const { organizationId } = caller
    const target = body.guardrail_id === undefined ? null : await requireTarget(context, body.guardrail_id)
    const assignees = target && (await loadTargetAssignees(gateway, target))
    const from = new Date(gateway.clock.now() - body.days * dayMs).toISOString()
    const workspaceIds = await resolveCoveredWorkspaces(
      gateway.db,
      context,
      body.workspace_id ?? target?.workspace_id ?? undefined,
    )
    const selection: LogSelection = {
      ...{ organizationId, id: null, from, to: null, refused: null, isUnsuccessful: false },
      visible: listVisibleRequests(scopeOf(caller, 'generations:read')),
      generations: [
        ...(workspaceIds === null ? [] : [{ columns: ['workspace_id'], values: [...workspaceIds] }]),
        ...selectAssignees(assignees),
      ],
    }
    const place = {
      organization_id: organizationId,
      workspace_id: target?.workspace_id ?? caller.key.workspace_id,
    }
    const layers = { key: parseDraft(gateway, organizationId, body.guardrail) }
    const rules = computeEffectivePolicy(await expandAliases(gateway.db, place, layers))
    const examiner = new PastExaminer(gateway.catalog, { draft: layers.key, rules, assignees })
    const isComplete = await examine(gateway, selection, body.max_requests, examiner)
    const names = await loadKeyNames(gateway.db, organizationId, examiner.totals.keyIds)
    return { data: { from, is_complete: isComplete, ...examiner.totals.toRecord(names) } }
  },
})

function requireTarget({ gateway, caller, scope }: RequestsContext, id: string): Promise<GuardrailRow> {
  return requireGuardrail(gateway.db, { caller, scope, params: { id } })
}

/** Null: a default guardrail applies to everyone in its place. */
async function loadTargetAssignees({ db }: Gateway, row: GuardrailRow): Promise<Assignees | null> {
  return isDefaultGuardrail(row) ? null : loadAssignees(db, row)
}

function selectAssignees(assignees: Assignees | null): Condition[] {
  if (!assignees) return []
  const { keyIds, userIds } = assignees
  if (keyIds.size + userIds.size > maxSelected) return []
  return [
    {
      any: [
        { columns: ['key_id'], values: [...keyIds] },
        { columns: ['user_id'], values: [...userIds] },
      ],
    },
  ]
}

async function examine(
  gateway: Gateway,
  selection: LogSelection,
  max: number,
  examiner: PastExaminer,
): Promise<boolean> {
  const isComplete = await examinePastRequests(gateway, selection, max, (rows: readonly GenerationRow[]) =>
    examiner.add(rows),
  )
  await examiner.finish()
  return isComplete
}
