import type { PlacedText } from '../../formats/call/texts.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { FilterHit } from '../../governance/filters/filter-set.ts'
import type { Placeholders } from '../../governance/filters/placeholders.ts'
import { type FoundEdit, RedactedSections } from '../../governance/filters/redact-text.ts'
import type { RuleSet } from '../../governance/filters/scanner.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { PlaceholderRestorer } from './placeholder-restorer.ts'

/** Redacts texts, and gives the matches of reversible filters placeholders instead of their labels. */
export async function redactReversibly(
  { scanner }: Gateway,
  filters: RuleSet,
  texts: readonly PlacedText[],
  placeholders: Placeholders,
): Promise<{ hits: FilterHit[]; text: string | null }[]> {
  placeholders.exclude(texts)
  const redacted = texts.map(({ text }) => new RedactedSections(text))
  const found = await scanner.findEdits(filters, texts, (index, edits) => {
    // Parameters, such as the end user, must not depend on the other values of the request.
    const isLabeled = texts[index]?.place.part === 'parameter'
    const replace = ({ value, ...edit }: FoundEdit) =>
      value === undefined || isLabeled ? edit : { ...edit, label: placeholders.assign(edit.label, value) }
    redacted[index]?.add(edits.map(replace))
  })
  return found.map((hits, index) => ({ hits, text: redacted[index]?.take() ?? null }))
}

/** Has the reply restored, once there is something to restore. */
export function restoreReply(
  request: Pick<InferenceRequest, 'placeholders' | 'restoreReply' | 'content' | 'work'>,
): void {
  const { placeholders, work } = request
  // What tools and plugins add is found later.
  if (!placeholders || (placeholders.size === 0 && !work)) return
  const format = request.content.call.format?.kind
  const isJson = format === 'json' || format === 'schema'
  request.restoreReply = () => new PlaceholderRestorer(placeholders, isJson)
}
