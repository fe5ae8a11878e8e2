import type { SseFrame } from '../../platform/http/sse.ts'
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  isBlank,
  type JsonObject,
} from '../../platform/json/json-values.ts'
import type { ReplyEvent, ReplyStart } from '../call/event.ts'
import type { Citation } from '../call/part.ts'
import { type ListPaths, limitEventLists } from '../reply-lists.ts'
import { decodeServedTier } from '../tier.ts'
import type { ReplyReader } from '../wire-format.ts'
import { ChoiceReader } from './choice-reader.ts'
import { decodeFailure, malformedReplyFailure } from './error.ts'
import { selectContent } from './normalize.ts'
import { encodeCitation } from './parts-encode.ts'
import { decodeUsage, findUsage } from './usage.ts'

export function createReader(): ReplyReader {
  return new ChatReader()
}

/** More choices than any request has: bounds the memory that hostile indexes can take. */
export const maxChoices = 128

class ChatReader implements ReplyReader {
  readonly #choices = new Map<number, ChoiceReader>()
  readonly #isWhole: boolean
  #hasStarted = false
  #isOver = false
  #id = ''
  #usage: JsonObject | undefined
  #citations: Citation[] = []

  constructor(isWhole = false) {
    this.#isWhole = isWhole
  }

  read(frame: SseFrame): ReplyEvent[] {
    if (this.#isOver) return []
    const data = frame.data.trim()
    if (data === '[DONE]') return this.#finish(true)
    if (data === '') return []
    const chunk = parseChunk(data)
    // Once every choice is finished, only usage can be missing.
    if (!chunk && this.#allFinished()) return []
    if (!chunk)
      return this.#fail(malformedReplyFailure('The provider sent an event that is not a JSON object.'))
    return this.readChunk(chunk, frame.event === 'error')
  }

  end(): ReplyEvent[] {
    return this.#isOver ? [] : this.#finish(false)
  }

  readChunk(chunk: JsonObject, isError: boolean): ReplyEvent[] {
    const error = extractChunkError(chunk, isError)
    const events = this.#start(chunk)
    this.#usage = findUsage(chunk) ?? this.#usage
    const citations = decodeCitations(chunk)
    if (citations.length > 0) this.#citations = citations
    for (const choice of asObjects(chunk.choices))
      for (const event of this.#readChoice(choice)) events.push(event)
    const failure =
      error ??
      asObjects(chunk.choices)
        .map(extractChoiceError)
        .find((choiceError) => choiceError !== undefined)
    return failure === undefined ? events : events.concat(this.#fail(decodeFailure(failure, null)))
  }

  #start(chunk: JsonObject): ReplyEvent[] {
    // A first chunk may only carry the vendor's content filter results for the prompt, without an id.
    if (this.#hasStarted || !Array.isArray(chunk.choices)) return []
    const start: ReplyStart = { type: 'reply-start' }
    const [id, model] = [asString(chunk.id), asString(chunk.model)]
    const [tier, fingerprint] = [decodeServedTier(chunk.service_tier), asString(chunk.system_fingerprint)]
    if (!id && chunk.choices.length === 0) return []
    this.#hasStarted = true
    if (id) start.id = this.#id = id
    if (model) start.model = model
    if (tier) start.serviceTier = tier
    if (fingerprint) start.fingerprint = fingerprint
    return [start]
  }

  #readChoice(choice: JsonObject): ReplyEvent[] {
    const index = asNumber(choice.index) ?? 0
    let open = this.#choices.get(index)
    if (!open) {
      if (this.#choices.size >= maxChoices) return []
      open = new ChoiceReader(index)
      this.#choices.set(index, open)
    }
    open.readFinish(choice)
    return open.read(selectContent(choice, this.#isWhole, open.hasContent), choice.logprobs, this.#id)
  }

  #fail(failure: ReturnType<typeof decodeFailure>): ReplyEvent[] {
    this.#isOver = true
    return [...this.#endChoices(false), { type: 'reply-error', failure }]
  }

  #endChoices(isEndMarked: boolean): ReplyEvent[] {
    const citations = this.#citations
    const events = [...this.#choices.entries()]
      .sort(([a], [b]) => a - b)
      .flatMap(([, choice], at) => choice.end(isEndMarked, at === 0 ? citations : []))
    if (this.#usage) events.push({ type: 'usage', usage: decodeUsage(this.#usage) })
    return events
  }

  /** Ends the reply. If the end is not marked, the reply is complete only if every choice has a finish reason. */
  #finish(isEndMarked: boolean): ReplyEvent[] {
    if (this.#choices.size === 0 && isEndMarked)
      return this.#fail(malformedReplyFailure('The provider sent an empty reply.'))
    this.#isOver = true
    const events = this.#endChoices(isEndMarked)
    if (isEndMarked || this.#allFinished()) events.push({ type: 'reply-end' })
    return events
  }

  #allFinished(): boolean {
    return this.#choices.size > 0 && [...this.#choices.values()].every((choice) => choice.isFinished)
  }
}

/** The events of a whole reply, which is read as a stream of one chunk. */
export function decodeReply(body: JsonObject): ReplyEvent[] {
  const reader = new ChatReader(true)
  const isReply = Array.isArray(body.choices) && body.choices.length > 0
  if (!isReply && extractChunkError(body, false) === undefined) {
    return [{ type: 'reply-error', failure: decodeBareFailure(body) }]
  }
  const events = reader.readChunk(body, false)
  return events.concat(reader.read({ event: '', data: '[DONE]' }))
}

/** Some vendors return status 200 with a bare message instead of an error object. */
function decodeBareFailure(body: JsonObject) {
  const message = asString(body.message) ?? asString(body.detail)
  return message === undefined
    ? malformedReplyFailure('The provider sent a reply without choices.')
    : decodeFailure(body, null)
}

export function extractChunkError(chunk: JsonObject, isError: boolean): unknown {
  const { error } = chunk
  if (error !== false && !isBlank(error)) return error
  if (isError || chunk.object === 'error' || chunk.type === 'error') return chunk
  return undefined
}

export function extractChoiceError({ error }: JsonObject): unknown {
  return isBlank(error) ? undefined : asObject(error)
}

/** The lists of a message; those of a delta are the same. */
const messageLists = ['content', 'tool_calls', 'reasoning_details', 'annotations', 'images']

export const replyLists: ListPaths = [
  ['choices'],
  ['search_results'],
  ['citations'],
  ...messageLists.flatMap((name) => [
    ['choices', 'message', name],
    ['choices', 'delta', name],
  ]),
]

export function parseChunk(data: string): JsonObject | undefined {
  const chunk = tryParseObject(data)
  limitEventLists(data, chunk, replyLists)
  return chunk
}

function tryParseObject(data: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(data))
  } catch {
    return undefined
  }
}

/** Sources next to the choices: `search_results` with titles, or bare URLs in `citations`. */
function decodeCitations(chunk: JsonObject): Citation[] {
  const results = asObjects(chunk.search_results).flatMap((result) => {
    const [url, title, snippet] = [asString(result.url), asString(result.title), asString(result.snippet)]
    if (!url) return []
    return [{ url, ...(title !== undefined && { title }), ...(snippet ? { citedText: snippet } : {}) }]
  })
  if (results.length > 0) return results
  if (!Array.isArray(chunk.citations)) return []
  return chunk.citations.flatMap((url) => (typeof url === 'string' ? [{ url }] : []))
}

/** The same sources as annotations. */
export function buildAnnotations(chunk: JsonObject): JsonObject[] {
  return decodeCitations(chunk)
    .map((citation) => encodeCitation(citation, 0))
    .filter((annotation) => annotation !== undefined)
}
