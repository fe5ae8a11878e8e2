import { spyOn } from 'bun:test'
import { OriginReachability } from '../../src/platform/http/origin-reachability.ts'
import { encodeBedrockChunk, encodeConverseEvent } from '../support/aws-event-stream.ts'
import type { TestServer } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'

/** A request as it would have left this machine. */
export interface SentRequest {
  method: string
  url: string
  headers: Record<string, string>
  body: unknown
}

/** Replaces `fetch`: requests to vendors are recorded and get a scripted reply. */
export function interceptFetch(server: TestServer): {
  sent: SentRequest[]
  texts: string[]
  restore(): void
} {
  const sent: SentRequest[] = []
  const texts: string[] = []
  const real = globalThis.fetch
  // Hosts of vendors are neither resolved nor connected to.
  Object.assign(server.gateway.upstreams, { origins: new OriginReachability(async () => undefined) })
  const respond = async (input: string | URL | Request, init?: RequestInit) => {
    const url = String(input instanceof Request ? input.url : input)
    if (new URL(url).hostname === '127.0.0.1') return real(input, init)
    const headers = Object.fromEntries(new Headers(init?.headers).entries())
    sent.push({ method: init?.method ?? 'GET', url, headers, body: JSON.parse(String(init?.body)) })
    texts.push(String(init?.body))
    return buildReply(url, String(init?.body))
  }
  const spy = spyOn(globalThis, 'fetch').mockImplementation(
    Object.assign(respond, { preconnect: real.preconnect }) as typeof fetch,
  )
  return { sent, texts, restore: () => spy.mockRestore() }
}

const wireFormats = [
  [/\/chat\/completions/, 'chat'],
  [/\/responses/, 'responses'],
  [/enerateContent/, 'gemini'],
  [/./, 'messages'],
] as const

const converseEvents = [
  ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hello' } }],
  ['messageStop', { stopReason: 'end_turn' }],
  ['metadata', { usage: { inputTokens: 3, outputTokens: 1 } }],
] as const

const converseReply = {
  output: { message: { role: 'assistant', content: [{ text: 'Hello' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 3, outputTokens: 1 },
}

const cohereEnd = {
  finish_reason: 'COMPLETE',
  usage: { billed_units: { input_tokens: 3, output_tokens: 1 } },
}
const cohereEvents = [
  { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Hello' } } } },
  { type: 'message-end', delta: cohereEnd },
]
const cohereReply = { message: { content: [{ type: 'text', text: 'Hello' }] }, ...cohereEnd }

function buildReply(url: string, body: string): Response {
  if (/\/converse$/.test(url)) return Response.json(converseReply)
  if (/\/converse-stream$/.test(url)) return eventStream(converseEvents.map(encodeConverseEvent))
  if (/\/v2\/chat$/.test(url)) return JSON.parse(body).stream ? sse(cohereEvents) : Response.json(cohereReply)
  const wireFormat = wireFormats.find(([pattern]) => pattern.test(url))?.[1] ?? 'chat'
  const { frames, body: whole } = vendorReply(wireFormat, 'text')
  if (/invoke-with-response-stream$/.test(url)) return encodeEventStream(frames)
  const streams = /alt=sse|streamRawPredict/.test(url) || JSON.parse(body).stream === true
  if (!streams) return Response.json(whole)
  return new Response(frames.join(''), { headers: { 'content-type': 'text/event-stream' } })
}

export function encodeEventStream(frames: readonly string[]): Response {
  const events = frames.flatMap((frame) => /^data: (.*)$/m.exec(frame)?.[1] ?? [])
  return eventStream(events.map((event) => encodeBedrockChunk(JSON.parse(event))))
}

function eventStream(messages: Buffer[]): Response {
  return new Response(Buffer.concat(messages), {
    headers: { 'content-type': 'application/vnd.amazon.eventstream' },
  })
}

function sse(events: readonly object[]): Response {
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
}
