import { z } from 'zod'
import { scopeOf } from '../../../access/authorize.ts'
import { resolveCoveredWorkspaces, resolveReachableWorkspace } from '../../../access/reachable-workspace.ts'
import { type AuditedRequest, transact } from '../../../access/transact.ts'
import { listVisibleRequests } from '../../../analytics/request-log/selection.ts'
import { listRuleRows, type PlacedRule, toRoutingRule } from '../../../governance/routing-rules/store.ts'
import { defineOperation, type OperationContext } from '../../../http/operation.ts'
import { dryRunTotals } from './dry-run-totals.ts'
import { type DraftRule, draftRuleBody } from './record.ts'
import { compileDraft, tryRules } from './try-rules.ts'

const maxRequests = 10_000

const dryRunBody = z.strictObject({
  rule: draftRuleBody
    .optional()
    .describe('A rule that is tried alone. Without it, all rules that are enabled are tried in their order.'),
  workspace_id: z.uuid().optional().describe('Only requests of this workspace.'),
  days: z.int().min(1).max(30).default(7),
  max_requests: z.int().min(1).max(maxRequests).default(maxRequests),
})

type DryRunContext = OperationContext<'routing_rules:read', undefined, undefined, typeof dryRunBody>

export const dryRunOperation = defineOperation({
  id: 'dryRunRoutingRules',
  method: 'POST',
  path: '/routing-rules/dry-run',
  tag: 'Routing rules',
  summary: 'Tries a rule, or all rules, on past requests, and returns what they would have done.',
  description:
    'Nothing is changed or sent. Requests that reached a provider are examined newest first, at most 10,000 and for ten seconds at most, among those that the caller may see with `generations:read`. Records do not have the names of tools, and have the text that `language` is detected in only where the workspace stores prompts and the caller has `contents:read`: requests whose outcome depends on them are `undecided`. `input_tokens` are those that were counted, not the estimate. Reading prompts is in the audit log.',
  permission: 'routing_rules:read',
  body: dryRunBody,
  optionalBody: true,
  errors: [404],
  response: z.strictObject({ data: dryRunTotals }),
  handle: async (context) => {
    const { gateway, caller, body } = context
    const { totals, promptIds } = await tryRules(gateway, {
      organizationId: caller.organizationId,
      workspaceIds: await resolveCoveredWorkspaces(gateway.db, context, body.workspace_id),
      visible: listVisibleRequests(scopeOf(caller, 'generations:read')),
      contents: scopeOf(caller, 'contents:read'),
      rules: body.rule ? [await readDraft(context, body.rule)] : await listEnabledRules(context),
      days: body.days,
      maxRequests: body.max_requests,
    })
    await recordReading(context, promptIds, body.workspace_id ?? null)
    return { data: totals }
  },
})

async function readDraft(context: DryRunContext, draft: DraftRule): Promise<PlacedRule> {
  const { gateway, caller } = context
  const sentId = draft.workspace_id
  const workspace_id =
    sentId == null ? null : (await resolveReachableWorkspace(gateway.db, context, sentId)).id
  return compileDraft(gateway, { organization_id: caller.organizationId, workspace_id }, draft)
}

async function listEnabledRules({ gateway, caller, scope }: DryRunContext): Promise<PlacedRule[]> {
  const rows = await listRuleRows(gateway.db, caller.organizationId)
  return rows
    .filter(({ enabled, workspace_id: id }) => enabled === 1 && isShown(scope, id))
    .map((row) => ({ workspaceId: row.workspace_id, rule: toRoutingRule(row) }))
}

/** Rules of the organization apply in all of its workspaces. */
function isShown({ everywhere, workspaceIds }: DryRunContext['scope'], id: string | null): boolean {
  return everywhere || id === null || workspaceIds.has(id)
}

/** Records whose prompts the caller has had examined: an outcome reveals something about them. */
async function recordReading(
  request: AuditedRequest,
  ids: readonly string[],
  workspaceId: string | null,
): Promise<void> {
  const [newest] = ids
  if (newest === undefined) return
  const details = { examined: ids.length, newest, oldest: ids.at(-1) }
  const target = { type: 'generation', id: newest }
  await transact(request, async (_tx, record) =>
    record({ action: 'content.read', target, workspaceId, details }),
  )
}
