import { greyPixelPng } from '../../src/catalog/providers/sandbox/media.ts'
import { zeroUsage } from '../../src/formats/call/usage.ts'
import { type Scenario, vendorReplies } from '../../test/support/replies.ts'
import type { UpstreamFormatName } from '../requests.ts'

export interface MockReply {
  whole: Buffer
  /** The head and what comes before the second event. */
  streamStart: Buffer
  streamEvent: Buffer
  streamEnd: Buffer
}

/** The replies of the mock upstream, as bytes. */
const common = '"created":1767225600,"model":"mock","system_fingerprint":"fp_44709d6fcb"'
const usage = '"usage":{"prompt_tokens":210,"completion_tokens":160,"total_tokens":370}'
const imageBytes = 5_000_000
const words = 'The quick brown fox jumps over the lazy dog and runs into the forest. '
const wholeText = words.repeat(10).slice(0, 690)

export const embeddingReplies = buildEmbeddingReplies()
export const imageReply = buildImageReply()
const streamHead =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n'

export const replies: Record<UpstreamFormatName, MockReply> = {
  chat: buildChatReply(),
  messages: buildReply('messages'),
  responses: buildReply('responses'),
  gemini: buildReply('gemini'),
}

function buildChatReply(): MockReply {
  const event = encodeChunk(encodeEvent(encodeDelta('{"content":" token"}', 'null')))
  const last = `{"id":"chatcmpl-mock","object":"chat.completion.chunk",${common},"choices":[],${usage}}`
  return {
    whole: buildWholeReply(),
    streamStart: Buffer.concat([Buffer.from(streamHead), event]),
    streamEvent: event,
    streamEnd: Buffer.concat([
      encodeChunk(encodeEvent(encodeDelta('{}', '"stop"'))),
      encodeChunk(encodeEvent(last)),
      encodeChunk('data: [DONE]\n\n'),
      Buffer.from('0\r\n\r\n'),
    ]),
  }
}

/** Builds a reply in the format of another vendor. */
function buildReply(format: Exclude<UpstreamFormatName, 'chat'>): MockReply {
  const scenario = (text: string): Scenario => ({
    text,
    toolCalls: [],
    finish: 'stop',
    usage: { ...zeroUsage, input: 210, output: 160 },
  })
  const { frames } = vendorReplies[format](scenario(' token'))
  const at = frames.findIndex((frame) => frame.includes('" token"'))
  const chunks = frames.map(encodeChunk)
  return {
    whole: encodeWhole(JSON.stringify(vendorReplies[format](scenario(wholeText)).body)),
    streamStart: Buffer.concat([Buffer.from(streamHead), ...chunks.slice(0, at + 1)]),
    streamEvent: encodeChunk(frames[at] ?? ''),
    streamEnd: Buffer.concat([...chunks.slice(at + 1), Buffer.from('0\r\n\r\n')]),
  }
}

/** A reply of 1 KB. */
function buildWholeReply(): Buffer {
  const body = `{"id":"chatcmpl-mock","object":"chat.completion",${common},"choices":[{"index":0,"message":{"role":"assistant","content":"${wholeText}","refusal":null},"logprobs":null,"finish_reason":"stop"}],${usage}}`
  return encodeWhole(body)
}

function encodeWhole(body: string): Buffer {
  return Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
}

/** A vector of 1,536 numbers, with the digits that vendors send. */
function buildEmbeddingReplies() {
  const numbers = Array.from({ length: 1536 }, (_, index) => Math.sin(index + 1) / 20)
  const float = `[${numbers.map((number) => number.toPrecision(8)).join(',')}]`
  const base64 = `"${Buffer.from(Float32Array.from(numbers).buffer).toString('base64')}"`
  const encode = (vector: string) =>
    encodeWhole(
      `{"object":"list","data":[{"object":"embedding","index":0,"embedding":${vector}}],"model":"mock","usage":{"prompt_tokens":370,"total_tokens":370}}`,
    )
  return { 'embedding-float': encode(float), 'embedding-base64': encode(base64) }
}

/** One PNG of 5 MB in base64: a real header, then filler bytes. */
function buildImageReply(): Buffer {
  const header = Buffer.from(greyPixelPng, 'base64')
  const filler = Buffer.alloc((imageBytes * 3) / 4 - header.length, 0xa7)
  const data = Buffer.concat([header, filler]).toString('base64')
  const counts = '"usage":{"input_tokens":210,"output_tokens":160,"total_tokens":370}'
  return encodeWhole(`{"created":1767225600,"data":[{"b64_json":"${data}"}],${counts}}`)
}

function encodeDelta(change: string, finish: string): string {
  return `{"id":"chatcmpl-mock","object":"chat.completion.chunk",${common},"choices":[{"index":0,"delta":${change},"logprobs":null,"finish_reason":${finish}}]}`
}

function encodeEvent(json: string): string {
  return `data: ${json}\n\n`
}

function encodeChunk(text: string): Buffer {
  return Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n`)
}
