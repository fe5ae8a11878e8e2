import { type ClientFormatName, clientFormats, type Turn } from './client-formats.ts'

/** Every candidate receives the same bytes, except for the model name and the headers it needs. */
const sentence =
  'Summarize the "quarterly" report in three points:\n- revenue, cost and margin;\n- what changed, and why. '

export const upstreamFormatNames = ['chat', 'messages', 'responses', 'gemini'] as const
export type UpstreamFormatName = (typeof upstreamFormatNames)[number]

/** A client and an upstream that do not share a format: the gateway has to translate. */
export interface Translation {
  client: ClientFormatName
  upstream: UpstreamFormatName
}

/** A model of the mock, in the catalog of a gateway. */
export interface BenchModel {
  /** Name at the mock. */
  name: string
  upstream: UpstreamFormatName
}

export interface RequestSpec {
  /** Selects the behavior of the mock; see children/mock.ts. */
  model: string
  promptBytes: number
  streamed: boolean
  /** A request for an embedding, in this encoding. */
  embedding?: 'float' | 'base64'
  /** Translation for candidates that can translate; the others get the same request in the chat format. */
  translation?: Translation
}

export function modelOf({ model, translation }: RequestSpec): BenchModel {
  return { name: model, upstream: translation?.upstream ?? 'chat' }
}

export function pathOf(spec: RequestSpec, modelName: string): string {
  if (spec.model === 'image') return '/v1/images/generations'
  if (spec.embedding) return '/v1/embeddings'
  return formatOf(spec).path(modelName, spec.streamed)
}

/** A conversation of about this many bytes. */
function buildTurns(bytes: number): Turn[] {
  const turns = Math.max(2, Math.ceil(bytes / 10_000))
  const content = sentence.repeat(Math.ceil(bytes / turns / sentence.length)).slice(0, bytes / turns)
  return Array.from({ length: turns }, (_, turn) => ({ role: roleOf(turn, turns), content }))
}

function roleOf(turn: number, turns: number): Turn['role'] {
  if (turn === 0) return 'system'
  return (turns - turn) % 2 === 1 ? 'user' : 'assistant'
}

export function buildBody(spec: RequestSpec, modelName: string): string {
  if (spec.model === 'image') return JSON.stringify({ model: modelName, prompt: sentence })
  if (spec.embedding) {
    const input = sentence.repeat(Math.ceil(spec.promptBytes / sentence.length)).slice(0, spec.promptBytes)
    return JSON.stringify({ model: modelName, input, encoding_format: spec.embedding })
  }
  return JSON.stringify(formatOf(spec).buildBody(modelName, buildTurns(spec.promptBytes), spec.streamed))
}

function formatOf({ translation }: RequestSpec) {
  return clientFormats[translation?.client ?? 'chat']
}

export function encodeRequest(path: string, headers: Record<string, string>, body: string): Buffer {
  const lines = Object.entries({
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}
