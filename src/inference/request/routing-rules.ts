import type { KeyContext } from '../../gateway/account-cache.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import {
  findMatch,
  type RoutingRule,
  type RuleAction,
  type WorkspaceRules,
} from '../../governance/routing-rules/rule.ts'
import { addSetTags, type TagRules } from '../../governance/tags/rules.ts'
import { splitTag, TagList } from '../../governance/tags/tag.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { parseAttemptOptions, timeoutHeader } from './attempt-options.ts'
import type { RequestState, Unguarded } from './inference-request.ts'
import type { RequestOptions } from './options.ts'
import { describeRequest, type RuledRequest } from './rule-facts.ts'
import { combinePreferences } from './rule-preferences.ts'

/** The routing rule that a request met. */
export interface AppliedRule {
  id: string
  name: string
  /** The model that the client requested. */
  requested: string
  hasModels: boolean
  /** The message for the client of a request that it rejects. */
  rejection: string | null
}

export interface RuledOptions {
  options: RequestOptions
  rule: AppliedRule | null
}

interface RuleContext extends Pick<KeyContext, 'tagRules'> {
  headers: Headers
  rules: WorkspaceRules
}

/** Applies the first rule that a request meets. The names that it puts into the request are resolved afterwards. */
export function applyRoutingRules(
  gateway: Gateway,
  request: Omit<RuledRequest, 'workspace'>,
  { rules: { workspace, rules }, tagRules, headers }: RuleContext,
): RuledOptions {
  const { options } = request
  const rule = findMatch(rules, describeRequest({ ...request, workspace }), (failed, error) =>
    reportFailure(gateway, failed, error),
  )
  if (!rule) return { options, rule: null }
  const { id, name, action } = rule
  gateway.metrics.recordRoutingRule(action.reject ? 'rejected' : 'applied')
  const applied = {
    id,
    name,
    requested: options.models[0] ?? '',
    hasModels: action.models !== undefined,
    rejection: action.reject?.message ?? null,
  }
  return { options: changeOptions(gateway, options, action, { tagRules, headers }), rule: applied }
}

function changeOptions(
  { catalog }: Gateway,
  options: RequestOptions,
  { models, provider, tags }: RuleAction,
  { tagRules, headers }: Omit<RuleContext, 'rules'>,
): RequestOptions {
  const changed = { ...options }
  if (models) {
    changed.models = [...models]
    // They are for the models that the client chose.
    changed.fallbacks = null
  }
  if (provider) {
    changed.preferences = combinePreferences(options.preferences, provider, catalog.providerByName)
    changed.attempts = parseAttemptOptions(changed.preferences, headers.get(timeoutHeader))
  }
  if (tags) Object.assign(changed, addTags(options, tags, tagRules))
  return changed
}

/** The tags of a rule replace those of the client, but not those that the key or its workspace sets. */
function addTags(
  { tags, droppedTags }: RequestOptions,
  added: Record<string, string>,
  rules: TagRules | null,
): Pick<RequestOptions, 'tags' | 'droppedTags'> {
  const list = new TagList()
  if (rules) addSetTags(list, rules)
  for (const [name, value] of Object.entries(added)) if (!list.has(name)) list.add({ name, value })
  for (const tag of tags) list.add(splitTag(tag))
  return { tags: list.list(), droppedTags: [...new Set([...droppedTags, ...list.listDropped()])] }
}

/** Conditions whose failure is in the log. They are the same objects after configuration was read again. */
const reported = new WeakSet<RoutingRule['condition']>()

/** A rule that cannot be evaluated must not fail the request. */
function reportFailure({ metrics, log }: Gateway, { id, name, condition }: RoutingRule, err: unknown): void {
  metrics.recordRoutingRule('failed')
  if (reported.has(condition)) return
  reported.add(condition)
  log.warn({ err, rule: id, name }, 'a routing rule could not be evaluated and was not applied')
}

/** Rejects a request that met a rule which rejects it. */
export function assertNotRejected({ rule }: Unguarded<RequestState>): void {
  if (rule === null || rule.rejection === null) return
  const { id, name } = rule
  throw gatewayError('rule_rejected', rule.rejection, { rule: { id, name } })
}
