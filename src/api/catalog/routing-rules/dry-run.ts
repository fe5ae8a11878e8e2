import { z } from 'zod'
import { scopeOf } from '../../../access/authorize.ts'
import { resolveCoveredWorkspaces, resolveReachableWorkspace } from '../../../access/reachable-workspace.ts'
import { type AuditedRequest, transact } from '../../../access/transact.ts'
import { type LogSelection, listVisibleRequests } from '../../../analytics/request-log/selection.ts'
import { compileRuleCondition } from '../../../governance/routing-rules/compile.ts'
import {
  listRuleRows,
  loadWorkspaceSlugs,
  type PlacedRule,
  RoutingRuleIndex,
  toRoutingRule,
} from '../../../governance/routing-rules/store.ts'
import { defineOperation, type OperationContext } from '../../../http/operation.ts'
import { assertModelsExist } from './changes.ts'
import { dryRunTotals } from './dry-run-totals.ts'
import { RuleExaminer } from './examine.ts'
import { draftRuleBody } from './record.ts'

const dayMs = 86_400_000
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
    const rules = body.rule ? [await compileDraft(context, body.rule)] : await listEnabledRules(context)
    const selection = await selectRequests(context)
    const examiner = new RuleExaminer(gateway, {
      selection,
      rules: new RoutingRuleIndex(rules, await loadWorkspaceSlugs(gateway.db, caller.organizationId)),
      contents: scopeOf(caller, 'contents:read'),
      maxRequests: body.max_requests,
    })
    const is_complete = await examiner.run()
    await recordReading(context, examiner.promptIds, body.workspace_id ?? null)
    const totals = examiner.totals.toRecord(
      rules.map(({ rule }) => rule),
      draftId,
    )
    return { data: { from: selection.from ?? '', is_complete, ...totals } }
  },
})

const draftId = ''

async function compileDraft(
  context: DryRunContext,
  { name, workspace_id: sentId, when, then }: z.output<typeof draftRuleBody>,
): Promise<PlacedRule> {
  const { gateway, caller } = context
  const workspaceId =
    sentId == null ? null : (await resolveReachableWorkspace(gateway.db, context, sentId)).id
  const place = { organization_id: caller.organizationId, workspace_id: workspaceId }
  await assertModelsExist(gateway, gateway.db, place, then, 'rule.then.models')
  const condition = compileRuleCondition(when)
  return { workspaceId, rule: { id: draftId, name: name ?? '', condition, action: then } }
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

/** The requests with a record that the caller may see. */
async function selectRequests(context: DryRunContext): Promise<LogSelection> {
  const { gateway, caller, body } = context
  const workspaces = await resolveCoveredWorkspaces(gateway.db, context, body.workspace_id)
  return {
    organizationId: caller.organizationId,
    id: null,
    from: new Date(gateway.clock.now() - body.days * dayMs).toISOString(),
    to: null,
    generations: workspaces === null ? [] : [{ columns: ['workspace_id'], values: [...workspaces] }],
    refused: null,
    isUnsuccessful: false,
    visible: listVisibleRequests(scopeOf(caller, 'generations:read')),
  }
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
