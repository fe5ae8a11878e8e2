import type { Candidate } from './candidates.ts'
import type { Scenario } from './scenarios.ts'

interface Chunk {
  data?: { b64_json?: string }[]
  choices?: { delta?: { content?: string }; message?: { content?: string } }[]
  usage?: { total_tokens?: number } | null
}

/** The usage that the mock reports; see children/mock-replies.ts. */
const tokens = 370

/** Checks one response before the load: a gateway that skips work would look faster. */
export async function verifyCandidate(candidate: Candidate, scenario: Scenario): Promise<void> {
  const response = await candidate.send(scenario.spec)
  const text = await response.text()
  const { embedding } = scenario.spec
  const events = Number(/^stream-(\d+)/.exec(scenario.spec.model)?.[1] ?? 0)
  const isExpected =
    response.status === 200 &&
    (embedding
      ? isEmbedding(text, embedding)
      : events > 0
        ? isExpectedStream(text, events)
        : isWholeReply(text))
  if (isExpected) return
  const about = `${candidate.name}, ${scenario.id}: an unexpected response, ${response.status}`
  throw new Error(`${about} ${text.slice(0, 500)}`)
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

function isExpectedStream(text: string, events: number): boolean {
  const data = [...text.matchAll(/^data: (.*)$/gm)].map((match) => match[1] ?? '')
  if (data.at(-1) !== '[DONE]') return false
  const chunks = data.slice(0, -1).map((json) => JSON.parse(json) as Chunk)
  const words = chunks.filter((chunk) => chunk.choices?.[0]?.delta?.content === ' token')
  return words.length === events && chunks.some((chunk) => chunk.usage?.total_tokens === tokens)
}
