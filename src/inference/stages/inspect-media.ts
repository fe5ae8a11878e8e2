import { collectBodyTexts, replaceBodyTexts } from '../../formats/call/body-texts.ts'
import { listOpaqueContent } from '../../formats/call/texts.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { ContentRules } from '../../governance/policy/content-rules.ts'
import { listDryRunHits, listUnscannable, scanTexts } from '../guard/inspect.ts'
import { redactLabels } from '../guard/labels.ts'
import { replaceBody } from '../media/parse.ts'
import type { MediaRequest } from '../media/task.ts'
import type { Unguarded } from '../request/inference-request.ts'

/** Inspects a request for a task other than text. */
export async function inspectMedia<Call>(
  gateway: Gateway,
  parsed: Unguarded<MediaRequest<Call>>,
): Promise<MediaRequest<Call>> {
  parsed.hits = listDryRunHits(parsed)
  const { contentRules } = parsed.keyContext
  if (contentRules) await inspectBody(gateway, parsed, contentRules)
  return Object.assign(parsed, { isGuarded: true as const })
}

/** Inspects the client's body, so that a redaction applies to everything that is made from it. */
async function inspectBody<Call>(
  gateway: Gateway,
  request: Unguarded<MediaRequest<Call>>,
  rules: ContentRules,
): Promise<void> {
  const { body, fields, opaque } = request.received
  const kinds = [
    ...listOpaqueContent(request.content.call),
    ...opaque.map((kind) => ({ kind, role: 'user' as const })),
  ]
  request.hits = [...(request.hits ?? []), ...listUnscannable(kinds, rules)]
  if (!rules.input) return
  const scanned = await scanTexts(gateway, rules.input, collectBodyTexts(body, fields))
  request.hits.push(...scanned.hits)
  const redacted = replaceBodyTexts(body, fields, scanned.texts)
  if (redacted !== body) replaceBody(request, redacted)
  if (!rules.labels) return
  const labels = await redactLabels(gateway, request, rules.labels)
  request.options = labels.options
  request.content = { ...request.content, body: { ...request.content.body, ...labels.fields } }
  request.hits.push(...labels.hits)
}
