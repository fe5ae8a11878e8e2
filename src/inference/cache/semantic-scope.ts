import type { Message, ModelCall } from '../../formats/call/call.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { findStringEnd } from '../../platform/json/json-string.ts'
import { version } from '../../platform/version.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { readDistinctions } from './distinctions.ts'
import { listCacheInputs, type SemanticOptions, stripWhitespace } from './options.ts'
import { hashCatalog } from './shared-responses.ts'

/** Why the semantic cache is not used for a request that asks for it, in its response. */
export type SkipReason =
  | 'not_configured'
  | 'region'
  | 'too_long'
  | 'tools'
  | 'media'
  | 'last_message'
  | 'script'
  | 'embedding_failed'
  | 'search_failed'

/** Characters of the longest text that is compared: the longer a text, the less its vector says about its details. */
const maxTextLength = 4000

/** What a request is compared by. */
export interface SemanticQuery {
  /** The last text of the user. */
  text: string
  /** Equal for requests that differ in this text only, and whose texts have the same distinctions. */
  scope: string
  /** The embedding model. */
  model: string
}

/** Finds what a request is compared by, or why it is not. */
export function buildSemanticQuery(
  gateway: Gateway,
  request: InferenceRequest,
  options: SemanticOptions,
): SemanticQuery | SkipReason {
  const { model } = gateway.settings.semantic_cache
  if (model === null) return 'not_configured'
  // Contents of regional requests are not stored in the database.
  if (request.region !== 'global') return 'region'
  const { content, work } = request
  if (content.received.isLarge) return 'too_long'
  if (work && (work.tools || work.plugins.some(({ id }) => id !== 'moderation'))) return 'tools'
  const text = readComparedText(content.call)
  if (typeof text !== 'object') return text
  return buildQuery(gateway, request, { ...text, model }, options)
}

/** The last text of the user, if nothing in the conversation depends on more than texts. */
function readComparedText(call: ModelCall): { text: string } | SkipReason {
  const { messages, modalities, tools } = call
  if (tools?.some(({ kind }) => kind === 'native')) return 'tools'
  if (modalities?.some((modality) => modality !== 'text') || messages.some(hasMedia)) return 'media'
  const last = messages.at(-1)
  const [part, ...others] = last?.parts ?? []
  if (last?.role !== 'user' || part?.kind !== 'text' || others.length > 0) return 'last_message'
  if (part.text.trim() === '') return 'last_message'
  return part.text.length > maxTextLength ? 'too_long' : { text: part.text }
}

const mediaKinds: ReadonlySet<string> = new Set(['image', 'file', 'audio', 'video', 'opaque'])

function hasMedia({ parts }: Message): boolean {
  return parts.some(
    (part) =>
      mediaKinds.has(part.kind) ||
      (part.kind === 'tool-result' && part.content.some(({ kind }) => kind !== 'text')),
  )
}

function buildQuery(
  gateway: Gateway,
  request: InferenceRequest,
  { text, model }: Omit<SemanticQuery, 'scope'>,
  options: SemanticOptions,
): SemanticQuery | SkipReason {
  const distinctions = readDistinctions(text)
  if (!distinctions) return 'script'
  const rest = cutRequest(request, text)
  if (!rest) return 'last_message'
  const { organizationId, key } = request.caller
  const owner = [organizationId, key.workspace_id, options.scope === 'key' ? key.id : null]
  const place = [version, owner, request.options.user, model, hashCatalog(gateway)]
  const inputs = [place, listCacheInputs(request), rest, distinctions]
  return { text, scope: gateway.vault.sign(`semantic cache\n${JSON.stringify(inputs)}`), model }
}

/**
 * The request without the compared text: as the client sent it, and as presets and other stages left it. Null if the
 * text is not in it as it is.
 */
function cutRequest({ content }: InferenceRequest, text: string): (string | null)[] | null {
  const { call, body, verbatim } = content
  const forms = [
    verbatim && stripWhitespace(verbatim.text),
    body === verbatim?.body ? null : JSON.stringify(body),
    verbatim ? null : JSON.stringify(call),
  ]
  const rest = forms.map((json) => json && cutLastString(json, text))
  return rest.some((form, index) => form === null && forms[index] !== null) ? null : rest
}

/**
 * Cuts the last string with a value out of a JSON text; null if there is none. Two requests with equal rests differ in
 * nothing but this string, whichever it is: if it were not the compared text, that would be in the rest.
 */
export function cutLastString(json: string, value: string): string | null {
  const encoded = JSON.stringify(value).slice(1, -1)
  let found: [start: number, end: number] | null = null
  for (let start = json.indexOf('"'); start !== -1; ) {
    const end = findStringEnd(json, start + 1)
    if (isEncoded(json.slice(start + 1, end), value, encoded)) found = [start, end + 1]
    start = json.indexOf('"', end + 1)
  }
  return found && `${json.slice(0, found[0])}?${json.slice(found[1])}`
}

/** Whether a string of a JSON text has this value, however its characters are escaped. */
function isEncoded(token: string, value: string, encoded: string): boolean {
  if (token === encoded) return true
  if (!token.includes('\\') || token.length < value.length) return false
  return JSON.parse(`"${token}"`) === value
}
