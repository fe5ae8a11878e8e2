import type { Message, ModelCall } from '../call/call.ts'
import type { Endpoint } from '../catalogue/model.ts'

/** A conversation that says nothing for so long has lost the provider's cache too. */
const idleMs = 10 * 60_000
/** More conversations are not remembered; those quiet longest go first. */
const maxSessions = 100_000

/** Where each conversation was answered last, so that the next turn finds the provider's prompt cache. */
export class StickySessions {
  readonly #sessions = new Map<string, { id: string; until: number }>()

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
    this.#sessions.delete(key)
    this.#sessions.set(key, { id, until: now + idleMs })
    if (this.#sessions.size <= maxSessions) return
    const [idlest] = this.#sessions.keys()
    if (idlest !== undefined) this.#sessions.delete(idlest)
  }
}

/** Whether staying with an endpoint saves anything. */
export function hasCacheDiscount({ pricing }: Endpoint): boolean {
  return pricing?.input_cache_read !== undefined && Number(pricing.input_cache_read) < Number(pricing.prompt)
}

/** What is the same in every turn of a conversation: how it begins. */
export function hashConversationStart({ messages }: ModelCall): string {
  const instructions = messages.find(({ role }) => role === 'system' || role === 'developer')
  const first = messages.find(({ role }) => role !== 'system' && role !== 'developer')
  return Bun.hash(`${textOf(instructions)}\n${textOf(first)}`).toString(36)
}

function textOf(message: Message | undefined): string {
  return message ? message.parts.map((part) => ('text' in part ? part.text : part.kind)).join('\n') : ''
}
