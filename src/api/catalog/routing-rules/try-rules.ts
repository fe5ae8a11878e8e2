import type { LogSelection } from '../../../analytics/request-log/selection.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { compileRuleCondition } from '../../../governance/routing-rules/compile.ts'
import {
  loadWorkspaceSlugs,
  type PlacedRule,
  RoutingRuleIndex,
} from '../../../governance/routing-rules/store.ts'
import type { Scope } from '../../../identity/permissions/grant.ts'
import { assertModelsExist, type RulePlace } from './changes.ts'
import type { DryRunTotals } from './dry-run-totals.ts'
import { RuleExaminer } from './examine.ts'
import type { DraftRule } from './record.ts'

const dayMs = 86_400_000

interface Trial {
  organizationId: string
  /** The workspaces whose requests are examined; null: all. */
  workspaceIds: ReadonlySet<string> | null
  visible: LogSelection['visible']
  /** Where the caller may read prompts. */
  contents: Scope
  rules: readonly PlacedRule[]
  days: number
  maxRequests: number
}

/** Evaluates rules over past requests; also returns the generations whose prompts were read, newest first. */
export async function tryRules(
  gateway: Gateway,
  { organizationId, workspaceIds, visible, contents, rules, days, maxRequests }: Trial,
): Promise<{ totals: DryRunTotals; promptIds: readonly string[] }> {
  const from = new Date(gateway.clock.now() - days * dayMs).toISOString()
  const selection: LogSelection = {
    ...{ organizationId, id: null, from, to: null, visible, refused: null, isUnsuccessful: false },
    generations: workspaceIds === null ? [] : [{ columns: ['workspace_id'], values: [...workspaceIds] }],
  }
  const slugs = await loadWorkspaceSlugs(gateway.db, organizationId)
  const examiner = new RuleExaminer(gateway, {
    ...{ selection, slugs, contents, maxRequests },
    rules: new RoutingRuleIndex(rules, slugs),
  })
  const is_complete = await examiner.run()
  const counts = examiner.totals.toRecord(
    rules.map(({ rule }) => rule),
    draftId,
  )
  return { totals: { from, is_complete, ...counts }, promptIds: examiner.promptIds }
}

/** A rule that is not stored has none. */
const draftId = ''

export async function compileDraft(
  gateway: Gateway,
  place: RulePlace,
  { name, when, then }: DraftRule,
): Promise<PlacedRule> {
  await assertModelsExist(gateway, gateway.db, place, then, 'rule.then.models')
  const condition = compileRuleCondition(when)
  return { workspaceId: place.workspace_id, rule: { id: draftId, name: name ?? '', condition, action: then } }
}
