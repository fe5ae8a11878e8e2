import { raisedRates } from '../support/raised-rates.ts'

/** The vendor's log of one request, independent of what happened to the gateway. */
export interface VendorRecord {
  /** Number that the client gave it. */
  number: string
  model: string
  /** Tokens sent until now. Each is four characters. */
  produced: number
  /** The final count; null when the reply was cut off. */
  completion: number | null
}

export interface Vendor {
  url: string
  records: VendorRecord[]
  /** Resolves when no reply is in progress. */
  idle(): Promise<void>
  stop(): Promise<void>
}

/** The count of every prompt. */
export const promptTokens = 50

/** Prices in nano-dollars, the same as in headgate.yaml. */
const prices = {
  tokens: { prompt: 2000n, completion: 8000n, request: 100_000n },
  fixed: { prompt: 0n, completion: 0n, request: 10_000_000n },
}

const models = {
  'faults/tokens': { provider: 'vendor', prices: prices.tokens },
  'faults/fixed': { provider: 'vendor', prices: prices.fixed },
  'faults/stubborn': { provider: 'stubborn', prices: prices.tokens },
}

export type ModelName = keyof typeof models

/** The price of a reply with this many tokens, request and prompt included. */
export function listPrice(model: string, completion: number): bigint {
  const { prompt, completion: output, request } = models[model as ModelName].prices
  return BigInt(promptTokens) * prompt + BigInt(completion) * output + request
}

/** headgate.yaml with the vendor twice: one that stops billing when the connection closes, and one that does not. */
export function buildSettings(vendor: Vendor): string {
  const provider = { name: 'Vendor', base_url: vendor.url, dialects: ['chat'], api_key: 'vendor-secret' }
  return JSON.stringify({
    limits: raisedRates,
    providers: [
      { slug: 'vendor', ...provider },
      { slug: 'stubborn', ...provider, bills_abandoned: true },
    ],
    models: Object.entries(models).map(([id, { provider: slug, prices: amounts }]) => ({
      id,
      name: id,
      context_length: 4000,
      endpoints: [{ provider: slug, upstream_model: id, pricing: formatPricing(amounts) }],
    })),
  })
}

function formatPricing(amounts: Record<string, bigint>) {
  const usd = (nanos: bigint) => `0.${String(nanos).padStart(9, '0')}`
  return Object.fromEntries(Object.entries(amounts).map(([name, nanos]) => [name, usd(nanos)]))
}

/** The prompt that scripts a reply. */
export function buildPrompt(number: string, tokens: number, paceMs: number): string {
  return `${number}: ${tokens} tokens, one in ${paceMs} ms`
}

const promptPattern = /^(\S+): (\d+) tokens, one in (\d+) ms$/

/** A provider that replies as the prompt says, and logs what it bills. */
export function startVendor(hostname = '127.0.0.1'): Vendor {
  const records: VendorRecord[] = []
  const open = new Set<VendorRecord>()
  const server = Bun.serve({
    port: 0,
    hostname,
    idleTimeout: 0,
    fetch: async (request) => {
      const body = (await request.json()) as VendorRequest
      const [, number = '', tokens, paceMs] = promptPattern.exec(body.messages[0]?.content ?? '') ?? []
      const entry: VendorRecord = { number, model: body.model, produced: 0, completion: null }
      records.push(entry)
      const spec = { tokens: Number(tokens), paceMs: Number(paceMs) }
      open.add(entry)
      const close = () => void open.delete(entry)
      // A body is not begun when its client has disconnected.
      request.signal.addEventListener('abort', close)
      if (body.stream) return sendStreamedReply(entry, spec, close)
      return sendWholeReply(entry, spec).finally(close)
    },
  })
  return {
    url: `http://${hostname}:${server.port}/v1`,
    records,
    idle: async () => {
      while (open.size > 0) await Bun.sleep(5)
    },
    stop: () => server.stop(true),
  }
}

interface VendorRequest {
  model: string
  stream?: boolean
  messages: { content: string }[]
}

interface ReplySpec {
  tokens: number
  paceMs: number
}

const token = 'word'
const identity = { id: 'chatcmpl-1', created: 1, model: 'vendor-model' }

function encodeUsage(completion: number) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completion,
    total_tokens: promptTokens + completion,
  }
}

async function sendWholeReply(entry: VendorRecord, { tokens, paceMs }: ReplySpec): Promise<Response> {
  await Bun.sleep(paceMs)
  entry.produced = tokens
  entry.completion = tokens
  const message = { role: 'assistant', content: token.repeat(tokens) }
  return Response.json({
    ...identity,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: encodeUsage(tokens),
  })
}

function sendStreamedReply(
  entry: VendorRecord,
  { tokens, paceMs }: ReplySpec,
  onClose: () => void,
): Response {
  async function* body() {
    try {
      for (let count = 0; count < tokens; count++) {
        if (paceMs > 0) await Bun.sleep(paceMs)
        entry.produced++
        yield encodeChunk([{ index: 0, delta: { content: token }, finish_reason: null }])
      }
      yield encodeChunk([{ index: 0, delta: {}, finish_reason: 'stop' }])
      entry.completion = tokens
      yield `${encodeChunk([], encodeUsage(tokens))}data: [DONE]\n\n`
    } finally {
      onClose()
    }
  }
  return new Response(body(), { headers: { 'content-type': 'text/event-stream' } })
}

function encodeChunk(choices: unknown[], usage?: unknown): string {
  return `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices, usage })}\n\n`
}
