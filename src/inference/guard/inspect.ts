import type { ModelCall } from '../../formats/call/call.ts'
import {
  collectTexts,
  listOpaqueContent,
  type OpaqueContent,
  type PlacedText,
  replaceTexts,
} from '../../formats/call/texts.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { Placeholders } from '../../governance/filters/placeholders.ts'
import type { RuleSet } from '../../governance/filters/scanner.ts'
import type { ContentRules, GuardrailHit } from '../../governance/policy/content-rules.ts'
import { isRegionAllowed } from '../../governance/policy/guard.ts'
import type { RequestContent } from '../request/content.ts'
import type { InferenceRequest, RequestState, Unguarded } from '../request/inference-request.ts'
import { replaceLabels } from '../request/options.ts'
import { readDocuments } from './documents.ts'
import { describeRule } from './dry-run.ts'
import { redactLabels } from './labels.ts'
import { redactReversibly } from './reversible.ts'

/** Finds what the guardrails say about a request, and redacts it. Nothing is refused or stored. */
export async function inspectRequest(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): Promise<InferenceRequest> {
  parsed.hits = listDryRunHits(parsed)
  const { contentRules } = parsed.keyContext
  if (contentRules) await inspectText(gateway, parsed, contentRules)
  return Object.assign(parsed, { isGuarded: true as const })
}

async function inspectText(
  gateway: Gateway,
  request: Unguarded<InferenceRequest>,
  rules: ContentRules,
): Promise<void> {
  const { content, format, caller } = request
  if (rules.isReversible) request.placeholders = new Placeholders()
  const { call, hits } = await inspectCall(gateway, {
    call: content.call,
    owner: caller.organizationId,
    rules,
    placeholders: request.placeholders,
    otherTexts: collectUnknown(content),
  })
  request.hits = [...(request.hits ?? []), ...hits]
  if (!rules.labels) return
  // A value of the prompt that is a label too is counted once.
  const changes = [
    [content.call.user, call.user],
    [content.call.promptCacheKey, call.promptCacheKey],
  ] as const
  request.options = replaceLabels(request.options, changes)
  const labels = await redactLabels(gateway, request, rules.labels)
  request.options = labels.options
  // Without the client's text: it may have what its decoded form does not, such as fields that are not known.
  const redacted = call === content.call ? content : content.rewrite(format, call)
  request.content = redacted.replaceFields(labels.fields)
  request.hits.push(...labels.hits)
}

/** A call, and what it is inspected by. */
interface InspectedCall {
  call: ModelCall
  /** The organization that sent it. */
  owner: string
  rules: ContentRules
  /** For the matches of reversible filters; null if there are none. */
  placeholders: Placeholders | null
  /** Texts besides those of the call. */
  otherTexts?: readonly PlacedText[]
}

/** Finds the matches of the rules in a call, and redacts it. */
export async function inspectCall(
  gateway: Gateway,
  { call, owner, rules, placeholders, otherTexts = [] }: InspectedCall,
): Promise<{ call: ModelCall; hits: GuardrailHit[] }> {
  if (!rules.input && !rules.unscannable) return { call, hits: [] }
  const documents = await readDocuments(gateway, call, owner)
  const readable = documents?.call ?? call
  const opaque = [...listOpaqueContent(readable), ...(documents?.incomplete ?? [])]
  const hits = listUnscannable(opaque, rules)
  if (!rules.input) return { call, hits }
  const texts = [...collectTexts(readable), ...otherTexts]
  const scanned = await scanTexts(gateway, rules.input, texts, placeholders)
  const edited = replaceTexts(readable, scanned.texts)
  return {
    call: edited === readable ? call : (documents?.restore(edited) ?? edited),
    hits: [...hits, ...scanned.hits],
  }
}

/** The fields of a body that its call does not have: they are read, and not sent where a filter blocks or redacts. */
function collectUnknown({ call, body }: RequestContent): PlacedText[] {
  const place = { part: 'parameter' as const, role: null, message: null }
  const values = call.unknown.flatMap((name) => body[name] ?? [])
  return values.length === 0 ? [] : [{ text: JSON.stringify(values), place }]
}

/**
 * Finds the matches of the filters, and redacts each text; null for a text that is unchanged. Without placeholders, a
 * reversible filter redacts as others do.
 */
export async function scanTexts(
  gateway: Gateway,
  filters: RuleSet,
  texts: readonly PlacedText[],
  placeholders: Placeholders | null = null,
): Promise<{ hits: GuardrailHit[]; texts: (string | null)[] }> {
  const results = placeholders
    ? await redactReversibly(gateway, filters, texts, placeholders)
    : await gateway.scanner.redact(filters, texts)
  return {
    hits: results.flatMap((result) => result.hits.map((hit) => ({ ...hit, direction: 'input' as const }))),
    texts: results.map(({ text }) => text),
  }
}

/** Lists the hits of a dry run; null if no guardrail can have a hit. */
export function listDryRunHits({ keyContext, region }: Unguarded<RequestState>): GuardrailHit[] | null {
  const { dry_run } = keyContext.policy
  if (!dry_run) return keyContext.contentRules ? [] : null
  return isRegionAllowed(dry_run, region)
    ? []
    : [describeRule('allowed_data_regions', dry_run.allowed_data_regions.layers)]
}

/** Content that no filter can read is recorded wherever a filter would read it. */
export function listUnscannable(
  contents: readonly Pick<OpaqueContent, 'kind' | 'role'>[],
  { unscannable, input }: ContentRules,
): GuardrailHit[] {
  if (!unscannable && !input) return []
  return contents.map(({ kind, role }) => ({
    ...describeRule('unscannable_content', unscannable?.layers ?? []),
    action: unscannable ? 'block' : 'flag',
    isEnforced: unscannable?.isEnforced ?? true,
    part: kind,
    role,
  }))
}
