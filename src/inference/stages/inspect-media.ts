import { collectBodyTexts, replaceBodyTexts } from '../../formats/call/body-texts.ts'
import { listOpaqueContent } from '../../formats/call/texts.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { ContentRules } from '../../governance/policy/content-rules.ts'
import { listDryRunHits, listUnscannable, scanTexts } from '../guard/inspect.ts'
import { redactLabels } from '../guard/labels.ts'
import { replaceBody } from '../media/parse.ts'
import type { MediaRequest } from '../media/task.ts'
import type { Unguarded } from '../request/inference-request.ts'

/** As `inspectRequest`, for a task other than text. */
export async function inspectMedia<Call>(
  gateway: Gateway,
  parsed: Unguarded<MediaRequest<Call>>,
): Promise<MediaRequest<Call>> {
  const request = Object.assign(parsed, { hits: listDryRunHits(parsed) })
  const { contentRules } = request.keyContext
  return contentRules ? inspectBody(gateway, request, contentRules) : request
}

/** What is redacted in the client's body is redacted in everything that is made of it. */
async function inspectBody<Call>(
  gateway: Gateway,
  request: MediaRequest<Call>,
  rules: ContentRules,
): Promise<MediaRequest<Call>> {
  const { body, fields, opaque } = request.received
  const kinds = [
    ...listOpaqueContent(request.content.call),
    ...opaque.map((kind) => ({ kind, role: 'user' as const })),
  ]
  const hits = [...(request.hits ?? []), ...listUnscannable(kinds, rules)]
  if (!rules.input) return { ...request, hits }
  const scanned = await scanTexts(gateway, rules.input, collectBodyTexts(body, fields))
  const inspected = { ...request, hits: [...hits, ...scanned.hits] }
  const redacted = replaceBodyTexts(body, fields, scanned.texts)
  return redactMediaLabels(gateway, redacted === body ? inspected : replaceBody(inspected, redacted), rules)
}

async function redactMediaLabels<Call>(
  gateway: Gateway,
  request: MediaRequest<Call>,
  rules: ContentRules,
): Promise<MediaRequest<Call>> {
  if (!rules.labels) return request
  const { options, fields, hits } = await redactLabels(gateway, request, rules.labels)
  const content = { ...request.content, body: { ...request.content.body, ...fields } }
  return { ...request, options, content, hits: [...(request.hits ?? []), ...hits] }
}
