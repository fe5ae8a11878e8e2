import type { Endpoint } from '../../catalog/model.ts'
import type { Message, ModelCall } from '../../formats/call/call.ts'

/** Milliseconds until an idle conversation is forgotten: by then the provider's prompt cache has expired too. */
const idleMs = 10 * 60_000
/** Milliseconds until other nodes are reminded of a conversation that continues. */
const reshareMs = idleMs / 2
/** Conversations in memory; beyond this number, those that were idle longest are evicted. */
const maxSessions = 100_000

/** The candidate that served the last turn of each conversation, whose provider has the prompt in its cache. */
export class StickySessions {
  readonly #sessions = new Map<string, { id: string; until: number; sharedAt: number }>()
  /** Called for what other nodes do not know yet. */
  onChange: ((key: string, id: string) => void) | null = null

  get isEmpty(): boolean {
    return this.#sessions.size === 0
  }

  find(key: string, now: number): string | null {
    const session = this.#sessions.get(key)
    if (!session) return null
    if (now < session.until) return session.id
    this.#sessions.delete(key)
    return null
  }

  remember(key: string, id: string, now: number): void {
    const known = this.onChange && this.#sessions.get(key)
    const isShared = known?.id === id && now - known.sharedAt < reshareMs
    this.#store(key, id, now, isShared ? known.sharedAt : now)
    if (!isShared) this.onChange?.(key, id)
  }

  /** Remembers a turn that another node served. */
  receive(key: string, id: string, now: number): void {
    this.#store(key, id, now, now)
  }

  #store(key: string, id: string, now: number, sharedAt: number): void {
    this.#sessions.delete(key)
    this.#sessions.set(key, { id, until: now + idleMs, sharedAt })
    if (this.#sessions.size <= maxSessions) return
    const [idlest] = this.#sessions.keys()
    if (idlest !== undefined) this.#sessions.delete(idlest)
  }
}

/** Whether an endpoint discounts cached input, so that staying with it saves money. */
export function hasCacheDiscount({ pricing }: Endpoint): boolean {
  return pricing?.input_cache_read !== undefined && Number(pricing.input_cache_read) < Number(pricing.prompt)
}

/** Identifies a conversation by its beginning, which is the same in every turn. */
export function hashConversationStart({ messages }: ModelCall): string {
  const instructions = messages.find(({ role }) => role === 'system' || role === 'developer')
  const first = messages.find(({ role }) => role !== 'system' && role !== 'developer')
  return Bun.hash(`${textOf(instructions)}\n${textOf(first)}`).toString(36)
}

function textOf(message: Message | undefined): string {
  return message ? message.parts.map((part) => ('text' in part ? part.text : part.kind)).join('\n') : ''
}
