import type { Call, Message } from '../call/call.ts'
import type { Endpoint } from '../catalog/model.ts'

/** A conversation that says nothing for so long has lost the provider's cache too. */
const idleMs = 10 * 60_000
/** More conversations are not remembered; those quiet longest go first. */
const mostConversations = 100_000

/** Where each conversation was answered last, so that the next turn finds the provider's prompt cache. */
export class Sticky {
  readonly #places = new Map<string, { id: string; until: number }>()

  get isEmpty(): boolean {
    return this.#places.size === 0
  }

  placeOf(conversation: string, now: number): string | null {
    const place = this.#places.get(conversation)
    if (!place) return null
    if (now < place.until) return place.id
    this.#places.delete(conversation)
    return null
  }

  remember(conversation: string, id: string, now: number): void {
    this.#places.delete(conversation)
    this.#places.set(conversation, { id, until: now + idleMs })
    if (this.#places.size <= mostConversations) return
    const [quietest] = this.#places.keys()
    if (quietest !== undefined) this.#places.delete(quietest)
  }
}

/** Whether staying with an endpoint saves anything. */
export function savesByCaching({ pricing }: Endpoint): boolean {
  return pricing?.input_cache_read !== undefined && Number(pricing.input_cache_read) < Number(pricing.prompt)
}

/** What is the same in every turn of a conversation: how it begins. */
export function beginningOf({ messages }: Call): string {
  const instructions = messages.find(({ role }) => role === 'system' || role === 'developer')
  const first = messages.find(({ role }) => role !== 'system' && role !== 'developer')
  return Bun.hash(`${textOf(instructions)}\n${textOf(first)}`).toString(36)
}

function textOf(message: Message | undefined): string {
  return message ? message.parts.map((part) => ('text' in part ? part.text : part.kind)).join('\n') : ''
}
