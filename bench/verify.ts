import type { Candidate } from './candidates.ts'
import type { RequestSpec } from './requests.ts'
import type { Scenario } from './scenarios.ts'

interface Chunk {
  data?: { b64_json?: string }[]
  choices?: { delta?: { content?: string }; message?: { content?: string } }[]
  usage?: { total_tokens?: number } | null
}

/** The usage that the mock reports; see children/mock-replies.ts. */
const tokens = 370
const completionTokens = 160

/** Checks one response before the load: a gateway that skips work would look faster. */
export async function verifyCandidate(candidate: Candidate, { id, spec }: Scenario): Promise<void> {
  const response = await candidate.send(spec)
  const text = await response.text()
  if (response.status === 200 && isExpectedReply(text, spec, candidate.regroupsText)) return
  const about = `${candidate.name}, ${id}: an unexpected response, ${response.status}`
  throw new Error(`${about} ${text.slice(0, 500)}`)
}

function isExpectedReply(
  text: string,
  { embedding, model, translation }: RequestSpec,
  regroupsText: boolean,
): boolean {
  const events = Number(/^stream-(\d+)/.exec(model)?.[1] ?? 0)
  if (translation) return isTranslatedReply(text, events)
  if (embedding) return isEmbedding(text, embedding)
  return events > 0 ? isExpectedStream(text, events, regroupsText) : isWholeReply(text)
}

/** Checks a reply in any format: a word of a stream is a JSON string of its own, and a whole text is one string. */
function isTranslatedReply(text: string, events: number): boolean {
  const hasUsage = new RegExp(`\\b${completionTokens}\\b`).test(text)
  const hasText = events > 0 ? text.split('" token"').length - 1 === events : /"[^"\n]{600,}forest/.test(text)
  return hasUsage && hasText
}

function isEmbedding(text: string, encoding: 'float' | 'base64'): boolean {
  const reply = JSON.parse(text) as Chunk & { data: { embedding: number[] | string }[] }
  const vector = reply.data[0]?.embedding
  const isVector = encoding === 'float' ? Array.isArray(vector) : typeof vector === 'string'
  return (
    isVector &&
    vector?.length === (encoding === 'float' ? 1536 : 8192) &&
    reply.usage?.total_tokens === tokens
  )
}

function isWholeReply(text: string): boolean {
  const reply = JSON.parse(text) as Chunk
  const content = reply.choices?.[0]?.message?.content ?? reply.data?.[0]?.b64_json ?? ''
  return reply.usage?.total_tokens === tokens && content.length > 600
}

function isExpectedStream(text: string, events: number, regroupsText: boolean): boolean {
  const data = [...text.matchAll(/^data: (.*)$/gm)].map((match) => match[1] ?? '')
  if (data.at(-1) !== '[DONE]') return false
  const chunks = data.slice(0, -1).map((json) => JSON.parse(json) as Chunk)
  const deltas = chunks
    .map((chunk) => chunk.choices?.[0]?.delta?.content ?? '')
    .filter((delta) => delta !== '')
  const hasText = deltas.join('') === ' token'.repeat(events)
  const hasEvents = regroupsText || deltas.length === events
  return hasText && hasEvents && chunks.some((chunk) => chunk.usage?.total_tokens === tokens)
}
