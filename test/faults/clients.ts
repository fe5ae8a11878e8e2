import { buildPrompt, type ModelName } from './vendor.ts'

/** A request, and when its client disconnects. */
export interface RequestSpec {
  model?: ModelName
  stream?: boolean
  tokens?: number
  paceMs?: number
  tools?: object[]
  /** Number of events with content after which it disconnects. */
  leaveAfter?: number
  /** Time after which it disconnects. */
  leaveAfterMs?: number
}

/** The response that the client received. */
export interface ClientOutcome {
  number: string
  /** Null when there was no response at all. */
  status: number | null
  code: string | null
  retryAfter: string | null
  generationId: string | null
  /** Number of events with content, for streams. */
  events: number
  /** `usage.cost` of the reply. */
  cost: number | null
  /** Whether it received the end of the reply. */
  ended: boolean
  /** Whether it received an error within a stream. */
  broken: boolean
}

/** Clients that log what they received. */
export class Clients {
  readonly log: ClientOutcome[] = []
  #count = 0

  async send(url: string, key: string, spec: RequestSpec = {}): Promise<ClientOutcome> {
    const outcome: ClientOutcome = {
      number: `r${++this.#count}`,
      status: null,
      code: null,
      retryAfter: null,
      generationId: null,
      events: 0,
      cost: null,
      ended: false,
      broken: false,
    }
    this.log.push(outcome)
    const leaving = new AbortController()
    const timer =
      spec.leaveAfterMs === undefined ? null : setTimeout(() => leaving.abort(), spec.leaveAfterMs)
    try {
      await runRequest(url, key, spec, outcome, leaving)
    } catch {
      // The server was killed, or the client disconnected.
    } finally {
      if (timer) clearTimeout(timer)
    }
    return outcome
  }
}

async function runRequest(
  url: string,
  key: string,
  spec: RequestSpec,
  outcome: ClientOutcome,
  leaving: AbortController,
): Promise<void> {
  const { model = 'faults/tokens', stream = false, tokens = 8, paceMs = 0, tools } = spec
  const response = await fetch(`${url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream,
      user: outcome.number,
      max_tokens: 100,
      ...(tools && { tools }),
      messages: [{ role: 'user', content: buildPrompt(outcome.number, tokens, paceMs) }],
    }),
    signal: leaving.signal,
    timeout: false,
  })
  outcome.generationId = response.headers.get('x-generation-id')
  outcome.retryAfter = response.headers.get('retry-after')
  outcome.status = response.status
  if (response.ok && stream)
    return readStream(response, outcome, () => outcome.events === spec.leaveAfter && leaving.abort())
  const body = (await response.json()) as {
    usage?: { cost: number }
    error?: { metadata?: { code?: string } }
  }
  outcome.cost = body.usage?.cost ?? null
  outcome.code = body.error?.metadata?.code ?? null
  outcome.ended = response.ok
}

interface Chunk {
  choices?: { delta?: { content?: string } }[]
  usage?: { cost: number }
  error?: unknown
}

async function readStream(response: Response, outcome: ClientOutcome, progressed: () => void): Promise<void> {
  progressed()
  let rest = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!line.startsWith('data: ')) continue
      if (line === 'data: [DONE]') outcome.ended = !outcome.broken
      else recordChunk(JSON.parse(line.slice(6)), outcome)
      progressed()
    }
  }
}

function recordChunk({ choices, usage, error }: Chunk, outcome: ClientOutcome): void {
  if (choices?.[0]?.delta?.content) outcome.events++
  if (usage) outcome.cost = usage.cost
  if (error) outcome.broken = true
}
