import type { Gateway } from '../../app/gateway.ts'
import type { ModelCall } from '../../call/call.ts'
import { applyEdits, collectTexts, listOpaqueContent } from '../../call/texts.ts'
import type { ContentRules, GuardrailHit } from '../../policy/content-rules.ts'
import { isRegionAllowed } from '../../policy/guard.ts'
import type { MediaRequest } from '../media/task.ts'
import type { InferenceRequest, ModelRequest, Unguarded } from '../request/inference-request.ts'
import { describeRule } from './dry-run.ts'

/** Finds what the guardrails say about a request, and redacts it. Nothing is refused or stored. */
export function inspectRequest(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): InferenceRequest | Promise<InferenceRequest> {
  const request = Object.assign(parsed, { hits: listDryRunHits(parsed) })
  const { contentRules } = request.keyContext
  return contentRules ? inspectText(gateway, request, contentRules) : request
}

async function inspectText(
  gateway: Gateway,
  request: InferenceRequest,
  rules: ContentRules,
): Promise<InferenceRequest> {
  const { content, format } = request
  const { call, hits } = await inspectCall(gateway, content.call, rules)
  const inspected = { ...request, hits: [...(request.hits ?? []), ...hits] }
  if (call !== content.call) return { ...inspected, content: content.rewrite(format, call) }
  // The text may have what its decoded form does not, such as fields that are not known.
  return rules.isStrict ? { ...inspected, content: content.withoutVerbatim() } : inspected
}

/** As `inspectRequest`, for a task other than text. */
export async function inspectMedia<Call>(
  gateway: Gateway,
  parsed: Unguarded<MediaRequest<Call>>,
): Promise<MediaRequest<Call>> {
  const request = Object.assign(parsed, { hits: listDryRunHits(parsed) })
  const { contentRules } = request.keyContext
  if (!contentRules) return request
  const { hits } = await inspectCall(gateway, request.content.call, contentRules)
  return { ...request, hits: [...(request.hits ?? []), ...hits.map(escalateRedaction)] }
}

/** The prompt of such a task cannot be changed, so what must not be sent is refused. */
function escalateRedaction(hit: GuardrailHit): GuardrailHit {
  return hit.action === 'redact' ? { ...hit, action: 'block' } : hit
}

async function inspectCall(
  gateway: Gateway,
  call: ModelCall,
  rules: ContentRules,
): Promise<{ call: ModelCall; hits: GuardrailHit[] }> {
  const hits = listUnscannable(call, rules)
  if (!rules.input) return { call, hits }
  const results = await gateway.scanner.scan(rules.input, collectTexts(call))
  for (const result of results) for (const hit of result.hits) hits.push({ ...hit, direction: 'input' })
  const edits = results.map(({ redactions }) => redactions)
  return { call: applyEdits(call, edits), hits }
}

/** Null if no guardrail can have a hit. */
function listDryRunHits({ keyContext, region }: Unguarded<ModelRequest>): GuardrailHit[] | null {
  const { dry_run } = keyContext.policy
  if (!dry_run) return keyContext.contentRules ? [] : null
  return isRegionAllowed(dry_run, region)
    ? []
    : [describeRule('allowed_data_regions', dry_run.allowed_data_regions.layers)]
}

/** Content that no filter can read is recorded wherever a filter would read it. */
function listUnscannable(call: ModelCall, { unscannable, input }: ContentRules): GuardrailHit[] {
  if (!unscannable && !input) return []
  return listOpaqueContent(call).map(({ kind, role }) => ({
    ...describeRule('unscannable_content', unscannable?.layers ?? []),
    action: unscannable ? 'block' : 'flag',
    isEnforced: unscannable?.isEnforced ?? true,
    part: kind,
    role,
  }))
}
