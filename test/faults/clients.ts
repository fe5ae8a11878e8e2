import { type ModelName, promptFor } from './vendor.ts'

/** What a client wants, and when it has enough. */
export interface Wish {
  model?: ModelName
  stream?: boolean
  tokens?: number
  paceMs?: number
  /** It leaves when it has seen so many events with content. */
  leaveAfter?: number
  /** It leaves after this time, whatever it has seen. */
  leaveAfterMs?: number
}

/** What a client knows when it is over. */
export interface Told {
  number: string
  /** Null when there was no answer at all. */
  status: number | null
  code: string | null
  retryAfter: string | null
  generationId: string | null
  /** With content, for streams. */
  events: number
  /** `usage.cost` of the answer. */
  cost: number | null
  /** It saw the end of its answer. */
  ended: boolean
  /** It saw an error in the middle of a stream. */
  broken: boolean
}

/** Clients that write down what they were told. */
export class Clients {
  readonly log: Told[] = []
  #count = 0

  async ask(url: string, key: string, wish: Wish = {}): Promise<Told> {
    const told: Told = {
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
    this.log.push(told)
    const leaving = new AbortController()
    const timer =
      wish.leaveAfterMs === undefined ? null : setTimeout(() => leaving.abort(), wish.leaveAfterMs)
    try {
      await converse(url, key, wish, told, leaving)
    } catch {
      // The server was killed, or the client left.
    } finally {
      if (timer) clearTimeout(timer)
    }
    return told
  }
}

async function converse(
  url: string,
  key: string,
  wish: Wish,
  told: Told,
  leaving: AbortController,
): Promise<void> {
  const { model = 'faults/tokens', stream = false, tokens = 8, paceMs = 0 } = wish
  const response = await fetch(`${url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream,
      user: told.number,
      max_tokens: 100,
      messages: [{ role: 'user', content: promptFor(told.number, tokens, paceMs) }],
    }),
    signal: leaving.signal,
    timeout: false,
  })
  told.generationId = response.headers.get('x-generation-id')
  told.retryAfter = response.headers.get('retry-after')
  told.status = response.status
  if (response.ok && stream)
    return readStream(response, told, () => told.events === wish.leaveAfter && leaving.abort())
  const body = (await response.json()) as {
    usage?: { cost: number }
    error?: { metadata?: { code?: string } }
  }
  told.cost = body.usage?.cost ?? null
  told.code = body.error?.metadata?.code ?? null
  told.ended = response.ok
}

interface Chunk {
  choices?: { delta?: { content?: string } }[]
  usage?: { cost: number }
  error?: unknown
}

async function readStream(response: Response, told: Told, progressed: () => void): Promise<void> {
  progressed()
  let rest = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!line.startsWith('data: ')) continue
      if (line === 'data: [DONE]') told.ended = !told.broken
      else note(JSON.parse(line.slice(6)), told)
      progressed()
    }
  }
}

function note({ choices, usage, error }: Chunk, told: Told): void {
  if (choices?.[0]?.delta?.content) told.events++
  if (usage) told.cost = usage.cost
  if (error) told.broken = true
}
