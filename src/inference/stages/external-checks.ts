import { collectBodyTexts, replaceBodyTexts } from '../../formats/call/body-texts.ts'
import { applyTextEdits, readJsonText } from '../../formats/call/json-text.ts'
import { collectTexts, type PlacedText, replaceTexts } from '../../formats/call/texts.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { mergeSpans, type Span } from '../../governance/filters/detector.ts'
import { findBlock } from '../guard/block.ts'
import { applyChecks } from '../guard/checks/apply.ts'
import { recordHits } from '../guard/hits.ts'
import { replaceBody } from '../media/parse.ts'
import type { MediaRequest } from '../media/task.ts'
import type { InferenceRequest, RequestState } from '../request/inference-request.ts'
import { isModerated } from './moderation-inputs.ts'

/** Has the services of guardrails check a prompt, and redacts it. Throws if one blocks it, after its hits are stored. */
export async function checkPrompt(gateway: Gateway, request: InferenceRequest): Promise<void> {
  const { content } = request
  const edited = await checkTexts(gateway, request, () => collectTexts(content.call))
  if (!edited) return
  request.content = content.rewrite(request.format, replaceTexts(content.call, edited))
}

/** The same for a task other than text. */
export async function checkMediaPrompt<Call>(gateway: Gateway, request: MediaRequest<Call>): Promise<void> {
  const { body, fields } = request.received
  const edited = await checkTexts(gateway, request, () => collectBodyTexts(body, fields))
  if (edited) replaceBody(request, replaceBodyTexts(body, fields, edited))
}

/** The texts that have to be replaced, null for each of the others; null if there are none. */
async function checkTexts(
  gateway: Gateway,
  request: RequestState,
  collect: () => PlacedText[],
): Promise<(string | null)[] | null> {
  const checks = request.keyContext.contentRules?.external?.input ?? []
  // A request to a moderation model is to be classified, not refused.
  if (checks.length === 0 || request.format.task === 'moderations') return null
  const all = collect()
  const selected = all.flatMap((placed, index) => (isModerated(placed) ? [openText(placed, index)] : []))
  if (selected.length === 0) return null
  const texts = selected.map(({ readable }) => readable)
  const { hits, redactions, refusal } = await applyChecks(gateway, request, {
    checks,
    direction: 'input',
    texts,
  })
  request.hits = [...(request.hits ?? []), ...hits]
  const error = findBlock(hits) ?? refusal
  if (error) {
    await recordHits(gateway, request)
    throw error
  }
  const edited: (string | null)[] = all.map(() => null)
  for (const [at, { index, edit }] of selected.entries()) edited[index] = edit(redactions[at] ?? [])
  return edited.some((text) => text !== null) ? edited : null
}

/** A text as a service reads it: a JSON text without escapes, so that it stays valid. */
export function openText(placed: PlacedText, index = 0) {
  const json = readJsonText(placed.text)
  const edit = (spans: readonly Span[]): string | null => {
    if (spans.length === 0) return null
    const edits = mergeSpans(spans)
    return json ? json.apply(edits) : applyTextEdits(placed.text, edits)
  }
  return { index, readable: { ...placed, text: json?.readable ?? placed.text }, edit }
}
