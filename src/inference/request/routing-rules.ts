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
import { type LoggedRequest, logOf } from '../../platform/logging/request-log.ts'
import type { AppliedRule } from './applied-rule.ts'
import { parseAttemptOptions, timeoutHeader } from './attempt-options.ts'
import type { IncomingRequest, RequestState, Unguarded } from './inference-request.ts'
import type { RequestOptions } from './options.ts'
import { lowerPriority } from './priority.ts'
import { describeRequest, type RuledRequest } from './rule-facts.ts'
import { combinePreferences } from './rule-preferences.ts'

export interface RuledOptions {
  options: RequestOptions
  rule: AppliedRule
}

/** What a rule cannot change for a key. */
type KeyRules = Pick<KeyContext, 'tagRules' | 'maxPriority'>

/** A request of a client, or of a plugin or tool. */
interface ReceivedRequest extends Pick<RuledRequest, 'format' | 'content' | 'options' | 'at'> {
  incoming: Pick<IncomingRequest, 'caller' | 'region' | 'httpRequest' | 'isNested' | 'tags'>
}

/**
 * Applies the first rule that a request meets; null if it meets none. The names that it puts into the request are
 * resolved afterwards. What a plugin or a tool requests meets none: the request that it works for did.
 */
export function applyRoutingRules(
  gateway: Gateway,
  { incoming, ...received }: ReceivedRequest,
  { workspace, rules }: WorkspaceRules,
  ofKey: KeyRules,
): RuledOptions | null {
  const { caller, region, httpRequest, isNested, tags } = incoming
  if (isNested || tags) return null
  const facts = describeRequest({ caller, region, workspace, ...received })
  const rule = findMatch(rules, facts, (failed, error) => reportFailure(gateway, incoming, failed, error))
  if (!rule) return null
  const { options } = received
  const { id, name, action } = rule
  gateway.metrics.recordRoutingRule(action.reject ? 'rejected' : 'applied')
  const applied = {
    id,
    name,
    requested: options.models[0] ?? '',
    hasModels: action.models !== undefined,
    rejection: action.reject?.message ?? null,
  }
  const changed = changeOptions(gateway, options, action, { ...ofKey, headers: httpRequest.headers })
  return { options: changed, rule: applied }
}

function changeOptions(
  { catalog }: Gateway,
  options: RequestOptions,
  { models, provider, tags }: RuleAction,
  { tagRules, maxPriority, headers }: KeyRules & { headers: Headers },
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
    if (provider.priority) changed.priority = lowerPriority(provider.priority, maxPriority)
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
function reportFailure(
  gateway: Gateway,
  request: LoggedRequest,
  { id, name, condition }: RoutingRule,
  err: unknown,
): void {
  gateway.metrics.recordRoutingRule('failed')
  if (reported.has(condition)) return
  reported.add(condition)
  logOf(gateway, request).warn(
    { err, rule: id, name },
    'a routing rule could not be evaluated and was not applied',
  )
}

/** Rejects a request that met a rule which rejects it. */
export function assertNotRejected({ rule }: Unguarded<RequestState>): void {
  if (rule === null || rule.rejection === null) return
  const { id, name } = rule
  throw gatewayError('rule_rejected', rule.rejection, { rule: { id, name } })
}
